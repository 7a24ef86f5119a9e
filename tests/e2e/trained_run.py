"""A run that was trained by the real command, and what can be read of it afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fleet_command import FleetCommand
from notes_benchmark import write_benchmark
from scripted_run import ScriptedRun
from simulated_models import SimulatedModels

from producer.published import published_revision
from producer.records import CallRecord, OptimizerRecord, RolloutRecord
from producer.run_folder import RunFolder
from skillopt.config.load import load_plan
from skillopt.domain.documents import Documents
from skillopt.domain.events import Event, Gated, Proposed, decode_event
from skillopt.domain.run import RunState
from skillopt.simulator.options import read_options

E = TypeVar("E")
#: Of which at least every sixth does what a test is about.
SEEDS_TRIED = 60


@dataclass
class TrainedRun(FleetCommand):
    """One `skillopt run` on the notes."""

    #: Of its simulator.
    options: Mapping[str, Any] = field(default_factory=dict)

    # --- what it decided ------------------------------------------------------------------

    def log(self) -> list[Event]:
        entries = RunFolder(self.run_dir()).read_entries()
        return [decode_event(entry.event) for entry in entries]

    def all(self, kind: type[E]) -> list[E]:
        return [event for event in self.log() if isinstance(event, kind)]

    def gates(self, source: str = "step") -> list[Gated]:
        return [event for event in self.all(Gated) if event.source == source]

    def guidance(self) -> list[Proposed]:
        return [event for event in self.all(Proposed) if event.source == "slow_update"]

    def state(self) -> RunState:
        return RunFolder(self.run_dir()).state()

    def history(self) -> list[dict[str, Any]]:
        text = (self.run_dir() / "history.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def best(self) -> Documents:
        state = self.state()
        return state.texts[state.best]

    # --- what was said --------------------------------------------------------------------

    def records(self) -> list[CallRecord]:
        return list(RunFolder(self.run_dir()).records())

    def attempts(self) -> list[RolloutRecord]:
        return [record for record in self.records() if isinstance(record, RolloutRecord)]

    def asked(self, call: str) -> list[OptimizerRecord]:
        """Give the optimizer calls of one kind, such as "reflect" or "slow_update"."""
        found = [record for record in self.records() if isinstance(record, OptimizerRecord)]
        return [record for record in found if record.call == call]

    def conversations(self) -> list[CallRecord]:
        """Give every record without what differs from one execution to the next."""
        return [record.model_copy(update={"receipt": None}) for record in self.records()]

    # --- what must hold of each -----------------------------------------------------------

    def check(self) -> TrainedRun:
        """Assert what holds of every run, whatever its mode."""
        summary = self.summary()
        assert summary["state"] == "finished"
        assert summary["best"]["val"]["hard"] >= summary["initial"]["val"]["hard"]
        assert self.log()[1:] == self.rehearse().events[1:], "the fleet decides as the loop alone"
        assert self.every_process() == []
        return self

    def rehearse(self, *overrides: str) -> ScriptedRun:
        """Run the same spec in this process: no queue, no workers, no server between.

        `overrides` are settings to be changed, as for `--set`.
        """
        loaded = load_plan(
            self.folder / "spec.yaml",
            environ={},
            overrides=overrides,
            publish_revision=published_revision,
        )
        models = SimulatedModels(options=read_options(self.options))
        return ScriptedRun(loaded.plan, models=models).finish()


def prepare(
    folder: Path,
    settings: Mapping[str, Any],
    *arguments: str,
    simulator: Mapping[str, Any] | None = None,
    such_that: Callable[[RunState], bool] | None = None,
    **benchmark: Any,
) -> TrainedRun:
    """Write a benchmark and give the command that trains on it.

    What a simulated optimizer does well or badly changes with every word of its prompts. A test
    that needs something of both says so with `such_that`, and gets a simulator that does it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(SEEDS_TRIED):
        options = {"seed": seed, **(simulator or {})}
        write_benchmark(folder, settings, options, **benchmark)
        run = TrainedRun(folder, arguments, options=options)
        if such_that is None or such_that(run.rehearse().state):
            return run
    raise AssertionError(f"none of {SEEDS_TRIED} simulators brings about what the test is about")


def train(
    folder: Path, settings: Mapping[str, Any], *arguments: str, **benchmark: Any
) -> TrainedRun:
    """Train to the end and check what holds of every run."""
    run = prepare(folder, settings, *arguments, **benchmark)
    assert run.run() == 0, run.err()
    return run.check()


def in_prompt(record: CallRecord) -> str:
    """Give all that a call was told."""
    assert record.messages is not None
    return "\n".join(message.content for message in record.messages)

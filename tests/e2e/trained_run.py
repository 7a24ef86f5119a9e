"""A run that was trained by the real command, and what can be read of it afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fleet_command import FleetCommand
from notes_benchmark import write_benchmark
from scripted_run import ScriptedRun
from simulated_models import SimulatedModels

from producer.records import CallRecord, OptimizerRecord, RolloutRecord
from producer.run_folder import RunFolder
from skillopt.domain.documents import Documents
from skillopt.domain.events import Event, Gated, Proposed, decode_event
from skillopt.domain.run import RunState
from skillopt.simulator.options import read_options

E = TypeVar("E")


@dataclass
class TrainedRun(FleetCommand):
    """One `skillopt run` on the notes, with the options of its simulator."""

    simulator: Mapping[str, Any] = field(default_factory=dict)

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
        assert self.log() == self.expected(), "the fleet decides as the loop alone does"
        assert self.every_process() == []
        return self

    def expected(self) -> list[Event]:
        """Give the events of the same plan, driven in this process without queue or server."""
        plan = RunFolder(self.run_dir()).read_plan()
        models = SimulatedModels(options=read_options(self.simulator))
        events = ScriptedRun(plan, models=models).finish().events
        return [self.log()[0], *events[1:]]  # the first names the plan by what was stored


def prepare(
    folder: Path, settings: Mapping[str, Any], *arguments: str, **benchmark: Any
) -> TrainedRun:
    """Write a benchmark and give the command that trains on it."""
    simulator = {"seed": 1, **benchmark.pop("simulator", {})}
    folder.mkdir(parents=True, exist_ok=True)
    write_benchmark(folder, settings, simulator, **benchmark)
    return TrainedRun(folder, arguments, simulator=simulator)


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

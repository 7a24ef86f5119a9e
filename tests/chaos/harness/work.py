"""What the fleet is given to do, and what must come of it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scripted_run import ScriptedRun
from simulated_models import SimulatedModels

from producer.published import published_revision
from producer.run_folder import RunFolder
from skillopt.config.load import LoadedSpec, load_eval_plan, load_plan
from skillopt.config.packaged import configs_dir
from skillopt.domain.events import Event
from skillopt.domain.steering_events import Resumed
from skillopt.domain.usage import Price
from skillopt.simulator.options import SimulatorOptions

#: A model with some bad ideas.
BEHAVIOUR: dict[str, Any] = {
    "seed": 5,
    "competence": 0.9,
    "vague_rate": 0.15,
    "harmful_rate": 0.25,
    "malformed_rate": 0.1,
}
#: It takes its time, so that there is always something in flight.
LATENCY: dict[str, Any] = {"latency_s": 0.25, "latency_sigma": 0.4}
OWNER, TEAM = "ada", "chaos"
PRICE = Price(input=1.0, output=4.0)

#: Everything that must be the same bytes: of a training, by name.
Documents = dict[str, bytes]


@dataclass(frozen=True)
class Run:
    """One run: its plan, and an undisturbed copy of it made in memory by the same model."""

    loaded: LoadedSpec

    @property
    def id(self) -> str:
        return self.loaded.plan.run_id

    @cached_property
    def undisturbed(self) -> ScriptedRun:
        models = SimulatedModels(options=SimulatorOptions(**BEHAVIOUR))
        return ScriptedRun(self.loaded.plan, models=models).finish()

    def events(self) -> list[Event]:
        return decisions(self.undisturbed.events)

    def documents(self, scratch: Path) -> Documents:
        """Write the folder that an undisturbed run has, and read it."""
        folder = RunFolder(scratch / self.id)
        folder.create(self.loaded.plan, {})
        folder.mirror(self.undisturbed.log())
        folder.derive(self.undisturbed.state)
        return documents_in(folder.path)


@dataclass(frozen=True)
class Work:
    """Two trainings and a measurement that have jobs in common."""

    first: Run
    second: Run
    measured: Run

    @property
    def runs(self) -> tuple[Run, ...]:
        return (self.first, self.second, self.measured)

    @cached_property
    def jobs(self) -> set[str]:
        """The distinct jobs of all runs: each must be committed once."""
        return {job for run in self.runs for job in run.undisturbed.performed}


def make_work(folder: Path, simulator_url: str, seed: int) -> Work:
    """Write two specs, whose trainings differ in the order of their tasks, and plan them."""
    plans = []
    for name, order in (("first", seed), ("second", seed + 1)):
        path = folder / f"{name}.yaml"
        path.write_text(_spec(name, simulator_url, order))
        plans.append(load_plan(path, environ=os.environ, publish_revision=published_revision))
    measured = load_eval_plan(
        folder / "second.yaml",
        split="test",
        environ=os.environ,
        publish_revision=published_revision,
    )
    return Work(Run(plans[0]), Run(plans[1]), Run(measured))


def make_measurement(folder: Path, simulator_url: str, name: str, copies: int) -> Run:
    """Plan one measurement of many tasks: those of the demo, each in several wordings."""
    tasks = folder / f"{name}-tasks"
    tasks.mkdir()
    demo = configs_dir() / "demo" / "tasks"
    for split in ("train", "val", "test"):
        rows = [json.loads(line) for line in (demo / f"{split}.jsonl").read_text().splitlines()]
        wordings = range(copies if split == "test" else 1)
        varied = [
            {**row, "task_id": f"{row['task_id']}.{n}", "task": f"{row['task']} Variant {n}."}
            for n in wordings
            for row in rows
        ]
        (tasks / f"{split}.jsonl").write_text("\n".join(map(json.dumps, varied)))
    path = folder / f"{name}.yaml"
    path.write_text(_spec(name, simulator_url, 0, tasks))
    loaded = load_eval_plan(
        path, split="test", environ=os.environ, publish_revision=published_revision
    )
    return Run(loaded)


def decisions(events: list[Event]) -> list[Event]:
    """Leave out what only says that a command was given again."""
    return [event for event in events if not isinstance(event, Resumed)]


def documents_in(folder: Path) -> Documents:
    files = [folder / "best_skill.md", folder / "history.jsonl", *folder.glob("skills/*")]
    return {path.name: path.read_bytes() for path in sorted(files) if path.exists()}


def _spec(name: str, simulator_url: str, order: int, tasks: Path | None = None) -> str:
    demo = configs_dir() / "demo"
    return "\n".join(
        [
            f"name: {name}",
            f"skill: {demo / 'SKILL.md'}",
            f"tasks: {tasks or demo / 'tasks'}",
            f"owner: {OWNER}",
            f"team: {TEAM}",
            "model: {target: sim, optimizer: sim}",
            f"backends: {{sim: {{kind: simulated, base_url: '{simulator_url}', "
            # Replies are shorter than that, so that what is set aside for a call is enough for it.
            f"price: {{input: {PRICE.input}, output: {PRICE.output}}}, "
            "params: {max_output_tokens: 8192}}}",
            f"train: {{num_epochs: 2, batch_size: 8, seed: {order}}}",
            "gradient: {minibatch_size: 4}",
            "optimizer: {learning_rate: 2, lr_scheduler: constant}",
        ]
    )

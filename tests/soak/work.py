"""Small runs at an even pace: each is new work.

What lapses after a time is as much as was done in that time. Only an even pace, well below what
the machine can do, lets the number of keys tell of leaks and not of the machine's other work.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from pathlib import Path

from producer.published import published_revision
from producer.run_folder import RunFolder
from producer.submit import submit
from skillopt.config.load import LoadedSpec, load_eval_plan, load_plan
from skillopt.config.packaged import configs_dir
from skillopt.state.redis.connect import RedisState

#: Slow enough that the fleet and not the simulator is looked at, fast enough for many runs.
SIMULATOR = {"seed": 5, "competence": 0.9, "harmful_rate": 0.25, "latency_s": 0.05}
#: A run is begun this often, unless so many are under way.
PACE_S = 1.5
AT_ONCE = 4
#: A run that takes longer than this hangs.
LONGEST_S = 120.0


class Work:
    """Begins run after run, and removes each when it is over, as retention does."""

    def __init__(self, folder: Path, state: RedisState, runs_dir: Path) -> None:
        self._folder = folder
        self._state = state
        self._runs_dir = runs_dir
        self._open: dict[str, float] = {}
        self._over: list[str] = []
        self._number = 0
        self._due_at = time.monotonic()
        self.finished: Counter[str] = Counter()
        self.executions = 0

    def tend(self) -> None:
        """Start what is due, take away what is over; raises RuntimeError if a run hangs."""
        for run, began in list(self._open.items()):
            info = self._state.runs.info(run)
            if info is not None and info.status == "finished":
                self.executions += self._state.budgets.spend(run).executions
                self.finished[run.rpartition("-")[0]] += 1
                del self._open[run]
                self._over.append(run)
            elif time.monotonic() - began > LONGEST_S:
                status = info.status if info else "gone"
                raise RuntimeError(f"run {run!r} is not over after {LONGEST_S:g} s: {status}")
        # One that somebody still leads is removed later.
        self._over = [run for run in self._over if not self._remove(run)]
        now = time.monotonic()
        if now >= self._due_at and len(self._open) < AT_ONCE:
            self._due_at = max(self._due_at + PACE_S, now)  # what was missed is not made up for
            self._start()

    def _remove(self, run: str) -> bool:
        if self._state.archive.remove(run) is None:
            return False
        shutil.rmtree(self._runs_dir / run, ignore_errors=True)
        return True

    def _start(self) -> None:
        self._number += 1
        plan = load(self._folder, self._number).plan
        RunFolder(self._runs_dir / plan.run_id).create(plan, {})
        submit(self._state, plan, meta={}, wait=time.sleep)
        self._open[plan.run_id] = time.monotonic()


def load(folder: Path, number: int) -> LoadedSpec:
    """Make the plan of a run that no other run is like: every second one is a training."""
    demo = configs_dir() / "demo"
    skill = folder / "SKILL.md"
    skill.write_text((demo / "SKILL.md").read_text() + f"\nVersion {number}.\n")
    spec = folder / "spec.yaml"
    lines = [
        "name: soak",
        f"skill: {skill}",
        f"tasks: {demo / 'tasks'}",
        "model: {target: sim, optimizer: sim}",
        f"backends: {{sim: {{kind: simulated, simulator: {json.dumps(SIMULATOR)}}}}}",
        f"train: {{num_epochs: 1, batch_size: 8, seed: {number}}}",
        "gradient: {minibatch_size: 4}",
    ]
    spec.write_text("\n".join(lines))
    if number % 2:
        return load_eval_plan(spec, environ=os.environ, publish_revision=published_revision)
    return load_plan(spec, environ=os.environ, publish_revision=published_revision)

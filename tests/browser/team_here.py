"""`skillopt up` on this machine, as a team has it: real services, a simulated model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from producer.attached import attached
from producer.queue.models import RunRow, Tags
from producer.queue.over_http import HttpQueue
from producer.tokens import issue
from skillopt.config.packaged import configs_dir

DEADLINE_S = 60.0
#: Slow enough to be watched, with some bad ideas.
SIMULATOR = {
    "seed": 3,
    "competence": 0.9,
    "vague_rate": 0.1,
    "harmful_rate": 0.15,
    "malformed_rate": 0.05,
    "latency_s": 0.2,
    "latency_sigma": 0.3,
}
#: Whose tokens there are: name -> role, owner, team.
PEOPLE = {
    "ada-laptop": ("runner", "ada", "docs"),
    "wall-screen": ("viewer", "wall", "docs"),
    "eve-laptop": ("runner", "eve", "sales"),
}
SPEC = """\
name: {name}
skill: SKILL.md
tasks: tasks
model: {{target: sim, optimizer: sim}}
train: {{num_epochs: {epochs}, batch_size: 8, seed: 7}}
gradient: {{minibatch_size: 4}}
optimizer: {{learning_rate: 2, lr_scheduler: constant}}
budget: {{max_calls: 2000}}
"""


def until(true: Callable[[], Any], what: str, within_s: float = DEADLINE_S) -> Any:
    """Wait until something is so, and give it."""
    deadline = time.monotonic() + within_s
    while not (found := true()):
        assert time.monotonic() < deadline, f"no {what} within {within_s:g} s"
        time.sleep(0.05)
    return found


class TeamHere:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / "store"
        self.told: dict[str, Any] = {}
        self.tokens: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    # --- its services ---------------------------------------------------------------------

    def start(self) -> None:
        catalogue = self.folder / "backends.yaml"
        entry = {"kind": "simulated", "price": {"input": 1.25, "output": 10}}
        backends = {"backends": {"sim": {**entry, "simulator": SIMULATOR}}}
        catalogue.write_text(json.dumps(backends), encoding="utf-8")
        command = [sys.executable, "-m", "producer.cli", "up", "--json", "--port", "0"]
        command += ["--flower-port", "0", "--backends", str(catalogue), "--store", str(self.store)]
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=err, start_new_session=True, env=dict(os.environ)
            )
        until(self._is_up, f"queue: {self.folder / 'err'}")
        with attached(None, self.store) as state:
            for name, (role, owner, team) in PEOPLE.items():
                issued = issue(state.tokens, name=name, role=role, owner=owner, team=team)
                self.tokens[name] = issued.secret

    def _is_up(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "err").read_text()
        text = (self.folder / "out").read_text()
        if not text.endswith("}\n"):
            return False
        self.told = json.loads(text)
        assert "url" in self.told, self.told
        return True

    @property
    def url(self) -> str:
        return str(self.told["url"])

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=40)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def left_running(self) -> list[str]:
        """Name the processes that are still at work in the store, after a moment of grace."""
        deadline = time.monotonic() + 15
        while (found := self._processes()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    def _processes(self) -> list[str]:
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # it ended meanwhile
            if str(self.store) in line:
                found.append(line)
        return found

    # --- its runs -------------------------------------------------------------------------

    def queue(self, who: str = "ada-laptop") -> HttpQueue:
        return HttpQueue(self.url, self.tokens[who])

    def phase(self, run: str) -> str:
        queue = self.queue()
        try:
            return queue.status(run).row.phase
        finally:
            queue.close()

    def submit(self, name: str, epochs: int = 2) -> RunRow:
        folder = self.folder / name
        shutil.copytree(configs_dir() / "demo", folder)
        spec = folder / "spec.yaml"
        spec.write_text(SPEC.format(name=name, epochs=epochs), encoding="utf-8")
        skill = folder / "SKILL.md"  # of its own, so that no run has its results from another
        skill.write_text(f"{skill.read_text()}\nThis is about {name}.\n", encoding="utf-8")
        queue = self.queue()
        try:
            return queue.submit(spec, Tags(labels={"ticket": "DOC-142"}))
        finally:
            queue.close()

    def end_of(self, run: str) -> str:
        """Wait until a run is finished; gives its id."""
        until(lambda: self.phase(run) == "finished", f"end of {run}")
        return run

"""`skillopt` as a user gives it: a real process, with real children, in a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.config.packaged import configs_dir

#: Faults are noticed in seconds, so that tests do not wait for minutes.
FAST = {
    "SKILLOPT_TIMING_LEASE_S": "3",
    "SKILLOPT_TIMING_HEARTBEAT_S": "1",
    "SKILLOPT_TIMING_LEAD_S": "2",
    "SKILLOPT_TIMING_LEAD_RENEW_S": "0.5",
    "SKILLOPT_TIMING_TICK_S": "0.5",
    "SKILLOPT_TIMING_RESEND_S": "4",
    "SKILLOPT_TIMING_INFRA_DELAY_S": "0.5",
    "SKILLOPT_TIMING_MAX_INFRA_ROUNDS": "60",
}

#: A simulator with some bad ideas, slow enough to be disturbed in the middle.
SIMULATOR = {
    "seed": 3,
    "competence": 0.9,
    "vague_rate": 0.15,
    "harmful_rate": 0.25,
    "malformed_rate": 0.1,
    "latency_s": 0.15,
    "latency_sigma": 0.3,
}

DEADLINE_S = 100.0


def spec_text(**simulator: Any) -> str:
    """Give the demo's tasks with a simulator of our choice."""
    demo = configs_dir() / "demo"
    return "\n".join(
        [
            "name: e2e",
            f"skill: {demo / 'SKILL.md'}",
            f"tasks: {demo / 'tasks'}",
            "model: {target: sim, optimizer: sim}",
            f"backends: {{sim: {{kind: simulated, simulator: {json.dumps(simulator)}}}}}",
            "train: {num_epochs: 3, batch_size: 8, seed: 7}",
            "gradient: {minibatch_size: 4}",
            "optimizer: {learning_rate: 2, lr_scheduler: constant}",
        ]
    )


@dataclass
class FleetCommand:
    """One `skillopt run`, running or ended."""

    folder: Path
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def store(self) -> Path:
        return self.folder / ".skillopt"

    def start(self) -> FleetCommand:
        command = [sys.executable, "-m", "producer.cli", "run", str(self.folder / "spec.yaml")]
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("ab") as err:
            self.process = subprocess.Popen(
                [*command, "--json", *self.arguments],
                env={**os.environ, **FAST, **self.environment},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self

    def wait(self) -> int:
        assert self.process is not None
        try:
            return self.process.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.end()
            raise AssertionError(f"still running: {self.err()}{self.logs()}") from None

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def run(self) -> int:
        return self.start().wait()

    # --- what it left ---------------------------------------------------------------------

    def summary(self) -> dict[str, Any]:
        return json.loads((self.folder / "out").read_text())

    def err(self) -> str:
        return (self.folder / "err").read_text()

    def logs(self) -> str:
        return "\n".join(
            f"== {path.name}\n{path.read_text()[-1500:]}"
            for path in sorted((self.store / "logs").glob("*"))
        )

    def run_dir(self) -> Path:
        [only] = (self.store / "runs").iterdir()
        return only

    def decisions(self) -> dict[str, bytes]:
        """Everything that must be the same bytes however the run was disturbed."""
        folder = self.run_dir()
        files = [folder / "best_skill.md", folder / "history.jsonl", *folder.glob("skills/*")]
        return {path.name: path.read_bytes() for path in sorted(files)}

    # --- its processes --------------------------------------------------------------------

    def pids(self, *words: str) -> list[int]:
        """Find our processes by their command lines; the store's path tells whose they are."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue  # it ended meanwhile
            mine = str(self.store.resolve()) in line or str(self.folder / "spec.yaml") in line
            if mine and all(word in line for word in words) and "guard.py" not in line:
                found.append(int(path.parent.name))
        return found

    def redis_pid(self) -> int:
        """Find the Redis of the store: it works in there, and its title has no arguments."""
        return next(pid for pid, line in self._processes() if line.startswith("redis-server"))

    def every_process(self) -> list[int]:
        """Our processes with their guards, and the Redis that serves the store."""
        return [pid for pid, _ in self._processes()]

    def _processes(self) -> Iterator[tuple[int, str]]:
        store = str(self.store.resolve())
        for path in Path("/proc").glob("[0-9]*"):
            try:
                line = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                cwd = str((path / "cwd").readlink())
            except (OSError, UnicodeDecodeError):
                continue  # it ended meanwhile, or it is not ours
            name = Path(line.split(" ")[0]).name
            if store in line or (cwd.startswith(store) and name == "redis-server"):
                yield int(path.name), f"{name} {line}"

    def kill(self, *words: str) -> int:
        """SIGKILL one of our processes."""
        pid = until(lambda: next(iter(self.pids(*words)), None), f"a process with {words}")
        os.kill(pid, signal.SIGKILL)
        return pid

    # --- its progress ---------------------------------------------------------------------

    def events(self) -> list[str]:
        try:
            lines = (self.run_dir() / "events.jsonl").read_text().splitlines()
        except (ValueError, OSError):
            return []
        return [json.loads(line)["event"]["type"] for line in lines if line.endswith("}")]

    def wait_for(self, event: str, count: int = 1) -> None:
        def seen() -> bool:
            assert self.process is not None
            assert self.process.poll() is None, f"ended early: {self.err()}{self.logs()}"
            return self.events().count(event) >= count

        until(seen, f"{count} events {event!r}")

    def simulator(self, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Talk to the run's simulator: GET, or POST if there is a body."""
        port_file = self.store / "simulator-sim.port"
        port = int(until(lambda: port_file.exists() and port_file.read_text(), "the port"))
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}{path}",
            data=data,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)


def until(condition: Callable[[], Any], what: str, deadline_s: float = 60.0) -> Any:
    """Poll until a condition holds and give its value."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {deadline_s} s for {what}")


def skillopt(*arguments: str, cwd: Path, **environment: str) -> tuple[int, dict[str, Any]]:
    """Run a command to its end; gives the exit code and the one object it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "producer.cli", *arguments, "--json"],
        cwd=cwd,
        env={**os.environ, **FAST, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)

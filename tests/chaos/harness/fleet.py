"""A whole fleet of real processes, on one Redis and one simulated provider."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from harness.relay import Relay
from harness.server import Server, url_of
from harness.supervised import Supervised
from harness.work import BEHAVIOUR, LATENCY, Run
from producer.run_folder import RunFolder
from producer.submit import submit
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.runtime import timing
from skillopt.domain.timing import Timing
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running
from skillopt.state import keys
from skillopt.state.redis.connect import RedisState, connect

T = TypeVar("T")

#: Faults are noticed in seconds. No lease is under 3 s: a loaded machine may well pause for one.
SCALED: Final[dict[str, str]] = {
    "SKILLOPT_TIMING": "team",
    "SKILLOPT_TIMING_LEASE_S": "3",
    "SKILLOPT_TIMING_HEARTBEAT_S": "1",
    "SKILLOPT_TIMING_LEAD_S": "3",
    "SKILLOPT_TIMING_LEAD_RENEW_S": "1",
    "SKILLOPT_TIMING_TICK_S": "0.5",
    "SKILLOPT_TIMING_RESEND_S": "4",
    "SKILLOPT_TIMING_INFRA_DELAY_S": "0.5",
    "SKILLOPT_TIMING_MAX_INFRA_ROUNDS": "60",
    "SKILLOPT_TIMING_DRAIN_S": "2",
    "SKILLOPT_TIMING_RESERVATION_S": "5",
    "SKILLOPT_TIMING_WORKER_TTL_S": "5",
}
WORKERS: Final = ("w1", "w2", "w3")
COORDINATORS: Final = ("a", "b")
SLOTS: Final = 2
MARK: Final = "SKILLOPT_CHAOS_FLEET"
CLOCK_FOLDER: Final = Path(__file__).with_name("clock_off")
STOP_GRACE_S: Final = 12.0


class Fleet:
    """Every process of the fleet by its role; `look` keeps them running."""

    def __init__(
        self, folder: Path, short: Path, provider: Address, env: Mapping[str, str]
    ) -> None:
        self.folder = folder
        self.provider = provider
        self.mark = uuid.uuid4().hex
        self._env = {**os.environ, **env, MARK: self.mark}
        self.timing: Timing = timing(self._env)
        self.store = folder / "store"
        for made in (self.store / "runs", folder / "redis", folder / "logs"):
            made.mkdir(parents=True)
        self.server = Server(folder / "redis", short / "r.sock", self._env)
        #: Each worker has a way to Redis of its own.
        self.relays = {name: Relay(short / f"{name}.sock", self.server.socket) for name in WORKERS}
        self.workers: dict[str, Supervised] = {}
        self.coordinators: dict[str, Supervised] = {}
        self.command: Supervised | None = None
        self.state: RedisState = connect(self.server.url, self.timing)

    # --- starting and ending ----------------------------------------------------------------

    def start(self, run: Run, *, workers: tuple[str, ...] = WORKERS) -> None:
        """Start everything but the submitting command; the run names the backends."""
        self.server.start()
        for relay in self.relays.values():
            relay.start()
        self.catalogue = self.folder / "backends.resolved.yaml"
        self.catalogue.write_text(dump_catalogue(run.loaded.backends))
        for name in workers:
            self._start_worker(name, url_of(self.relays[name].path))
        self._start_worker("q", self.server.url, "--quarantine")
        for name in COORDINATORS:
            self.coordinators[name] = self._supervised(
                f"coordinator-{name}",
                ["-m", "producer.coordinator", "--runs-dir", str(self.store / "runs")],
                self.server.url,
            )
        for part in self.parts():
            part.start()

    def _start_worker(self, name: str, url: str, *more: str) -> None:
        argv = ["-m", "workers", "--backend", "sim", "--backends", str(self.catalogue)]
        argv += ["--name", name, "--concurrency", str(SLOTS), *more]
        self.workers[name] = self._supervised(f"worker-{name}", argv, url)

    def _supervised(self, name: str, argv: list[str], url: str, *, keep: bool = True) -> Supervised:
        env = {**self._env, "SKILLOPT_REDIS_URL": url}
        log = self.folder / "logs" / f"{name}.log"
        return Supervised(name, [sys.executable, *argv], env, log, keep=keep)

    def submit(self, run: Run) -> None:
        """Create a run for the coordinators of the fleet."""
        RunFolder(self.run_dir(run)).create(run.loaded.plan, {})
        submit(self.state, run.loaded.plan, meta={}, wait=time.sleep)

    def give_command(self, run: Run) -> None:
        """Give `skillopt run` on the shared Redis, with a coordinator and a worker of its own."""
        if self.command is None:
            argv = ["-m", "producer.cli", "run", str(run.loaded.spec_path), "--json"]
            argv += ["--redis", self.server.url, "--store", str(self.store)]
            argv += ["--workers", "1", "--concurrency", str(SLOTS)]
            self.command = self._supervised("command", argv, self.server.url, keep=False)
        self.command.start()

    def parts(self) -> list[Supervised]:
        return [*self.coordinators.values(), *self.workers.values()]

    def look(self) -> None:
        for part in (*self.parts(), *([self.command] if self.command else [])):
            part.look()

    def end(self) -> list[str]:
        """End everything but Redis; names the parts that had to be killed."""
        forced = [part.name for part in self.parts() if not part.end(STOP_GRACE_S)]
        if self.command is not None:
            self.command.end(STOP_GRACE_S)
        return forced

    def close(self) -> None:
        """End whatever still runs, by its id."""
        self.end()
        for relay in self.relays.values():
            relay.close()
        self.state.close()
        self.server.stop()
        for pid in self.processes():
            os.kill(pid, signal.SIGKILL)

    # --- looking in -------------------------------------------------------------------------

    def run_dir(self, run: Run) -> Path:
        return self.store / "runs" / run.id

    def processes(self) -> list[int]:
        """Every process of the fleet but this one, by the mark in its environment."""
        wanted = f"{MARK}={self.mark}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if wanted in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:
                continue  # it ended meanwhile, or is not ours
        return found

    def committed(self) -> int:
        return len(self.results())

    def results(self) -> set[str]:
        """Name the jobs that have a result."""
        names: Any = self.server.state.keys(keys.result("*"))
        return {name.rpartition(":")[2] for name in names}

    def statuses(self, runs: tuple[Run, ...]) -> list[str]:
        found = (self.server.state.hget(keys.run(run.id), "status") for run in runs)
        return [str(status) for status in found]

    def leases(self) -> dict[str, str]:
        """Give the owner of every job that is being worked on."""
        names: Any = self.server.state.keys(keys.lease("*"))
        owners: Any = self.server.state.mget(names) if names else []
        pairs = zip(names, owners, strict=True)
        return {name.rpartition(":")[2]: owner for name, owner in pairs if owner}

    def held_by(self, worker: str) -> tuple[str, ...]:
        """Name the jobs that a worker works on."""
        suffix = ".q" if worker == "q" else ""
        mine = f"sim{suffix}-{worker}@"
        return tuple(job for job, owner in self.leases().items() if owner.startswith(mine))

    def kill_owner(self, owner: str) -> bool:
        """Kill the worker that has a lease, also one of the command; False if it is gone."""
        name = owner.partition("@")[0].partition("-")[2].encode()
        for pid in self.processes():
            words = _command_line(pid)
            if words[1:3] == [b"-m", b"workers"] and words[words.index(b"--name") + 1] == name:
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    def led_by(self, pid: int, runs: tuple[Run, ...]) -> tuple[str, ...]:
        """Name the runs that a coordinator leads."""
        owners = {run.id: self.server.state.hget(keys.run_lease(run.id), "owner") for run in runs}
        return tuple(run for run, owner in owners.items() if f":{pid}:" in str(owner))

    def charged(self) -> dict[str, int]:
        """Ask the provider what it bills."""
        with urllib.request.urlopen(f"{self.provider.root_url}/stats", timeout=10) as answer:
            stats = json.load(answer)
        return {**stats["charged"], "distinct": stats["distinct_contents"]}

    def logs(self) -> str:
        parts = [*self.parts(), *([self.command] if self.command else [])]
        return "\n".join(f"== {part.name}\n{part.tail()}" for part in parts)


def _command_line(pid: int) -> list[bytes]:
    """Give the words of a process; none if it ended meanwhile."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


@contextmanager
def fleet_in(
    folder: Path, env: Mapping[str, str] = SCALED, **latency: Any
) -> Iterator[tuple[Fleet, str]]:
    """Give a fleet that is not started, and the address of its provider."""
    with ExitStack() as stack:
        # A socket's path may not be longer than 107 bytes.
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="so-")))
        options = SimulatorOptions(**BEHAVIOUR, **{**LATENCY, **latency})
        provider = stack.enter_context(running(options))
        fleet = Fleet(folder, short, provider, env)
        stack.callback(fleet.close)
        yield fleet, provider.base_url


def until(condition: Callable[[], T], what: str, deadline_s: float, look: Callable[[], None]) -> T:
    """Poll until a condition holds and give its value; `look` is called in between."""
    end = time.monotonic() + deadline_s
    while not (value := condition()):
        assert time.monotonic() < end, f"waited {deadline_s:g} s for {what}"
        look()
        time.sleep(0.05)
    return value

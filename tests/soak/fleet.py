"""A whole fleet on this machine: Redis, a simulator, workers, a coordinator for every run."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from producer.embedded import children
from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer
from producer.embedded.simulators import start_simulators
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.runtime import timing
from skillopt.health import complaints
from skillopt.state.redis.connect import RedisState, connect
from soak.work import load

#: What is kept for days in earnest lapses within the soak, so that a steady state is reached.
SHORT = {
    f"SKILLOPT_TIMING_{name}": "40"
    for name in ("RESULT_TTL_S", "BLOB_TTL_S", "SPEC_TTL_S", "DOORBELL_TTL_S", "RESERVATION_S")
}
WORKERS = 2
STARTING_S = 60.0


@dataclass(frozen=True)
class Fleet:
    supervisor: Supervisor
    store: Store
    state: RedisState
    url: str
    names: tuple[str, ...]

    def pids(self) -> dict[str, int]:
        found = {name: self.supervisor.process(name).child_pid() for name in self.names}
        return {name: pid for name, pid in found.items() if pid is not None}


@contextmanager
def running(folder: Path) -> Iterator[Fleet]:
    """Start everything and wait until it is ready; nothing of it outlives the block."""
    store = Store.open(folder / "store")
    with (
        StoreLock.acquire(store, command="soak") as lock,
        RedisServer.start(lock) as server,
        Supervisor(server) as supervisor,
    ):
        env = {**children.environment(os.environ, server.url), **SHORT}
        backends = load(folder, 0).backends
        backends = start_simulators(supervisor, store, backends, env, supervisor.poll)
        catalogue = store.root / "backends.resolved.yaml"
        catalogue.write_text(dump_catalogue(backends), encoding="utf-8")
        specs = [_coordinator(store, env)]
        for number in range(1, WORKERS + 1):
            backend = backends["sim"]
            specs.append(
                children.worker(store, backend, catalogue, env, number=number, concurrency=8)
            )
        for spec in specs:
            supervisor.start(spec)
        _wait_until_ready(supervisor, specs)
        names = ("redis", "simulator-sim", *(spec.name for spec in specs))
        with connect(server.url, timing(env)) as state:
            yield Fleet(supervisor, store, state, server.url, names)


def _coordinator(store: Store, env: dict[str, str]) -> ChildSpec:
    """One for all runs, as a team has it."""
    health = store.health_dir / "coordinator"
    return ChildSpec(
        name="coordinator",
        argv=(
            *(sys.executable, "-m", "producer.coordinator"),
            *("--runs-dir", str(store.runs_dir), "--health-file", str(health)),
        ),
        env=env,
        log_path=store.logs_dir / "coordinator.log",
        stop_order=StopOrder.COORDINATOR,
        health_path=health,
    )


def _wait_until_ready(supervisor: Supervisor, specs: list[ChildSpec]) -> None:
    deadline = time.monotonic() + STARTING_S
    paths = [spec.health_path for spec in specs if spec.health_path is not None]
    while wrong := [
        why for path in paths for why in complaints(path, ready=True, now=time.monotonic())
    ]:
        supervisor.poll()
        if time.monotonic() > deadline:
            raise RuntimeError(f"the fleet is not ready after {STARTING_S:g} s: {wrong}")
        time.sleep(0.1)

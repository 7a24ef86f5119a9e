"""The child processes of an embedded run: simulator, workers, coordinator."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.store import Store
from skillopt.domain.backend import Backend


def environment(environ: Mapping[str, str], redis_url: str) -> dict[str, str]:
    """Give children what they need; the Redis URL may hold a password, so it is never argv.

    The safe path keeps modules that happen to lie in the working directory out of them.
    """
    own = {"SKILLOPT_REDIS_URL": redis_url, "PYTHONSAFEPATH": "1"}
    return {"SKILLOPT_TIMING": "embedded", **environ, **own}


def without_keys(
    env: Mapping[str, str], backends: Iterable[Backend], but: Backend | None = None
) -> dict[str, str]:
    """Leave the keys of backends out, but that of one: a child gets no key it has no use for."""
    kept = but.key_variables if but else ()
    keys = {name for backend in backends for name in backend.key_variables if name not in kept}
    return {name: value for name, value in env.items() if name not in keys}


def coordinator(store: Store, run: str, env: Mapping[str, str]) -> ChildSpec:
    return ChildSpec(
        name="coordinator",
        argv=(
            *(sys.executable, "-m", "producer.coordinator"),
            *("--runs-dir", str(store.runs_dir), "--run", run),
        ),
        env=env,
        log_path=store.logs_dir / "coordinator.log",
        stop_order=StopOrder.COORDINATOR,
    )


def worker(
    store: Store,
    backend: Backend,
    catalogue: Path,
    env: Mapping[str, str],
    *,
    number: int,
    concurrency: int,
    quarantine: bool = False,
) -> ChildSpec:
    name = f"worker-{backend.name}-{'q' if quarantine else number}"
    lane = ("--quarantine",) if quarantine else ()
    return ChildSpec(
        name=name,
        argv=(
            *(sys.executable, "-m", "workers"),
            *("--backend", backend.name, "--backends", str(catalogue)),
            *("--name", str(number), "--concurrency", str(concurrency), *lane),
        ),
        env=env,
        log_path=store.logs_dir / f"{name}.log",
        stop_order=StopOrder.WORKER,
    )

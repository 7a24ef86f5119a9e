"""The child processes of an embedded run: simulator, workers, coordinator."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.store import Store
from skillopt.config.azure_entry import KEY_VARIABLE
from skillopt.config.cli_entry import VARIABLES
from skillopt.domain.backend import Backend

REDIS_URL = "SKILLOPT_REDIS_URL"
#: Keys that people have in their environment for other programs, too.
_USUAL_KEYS = frozenset({*VARIABLES.values(), KEY_VARIABLE})
#: By these a machine signs in to Entra ID.
_ENTRA_SECRETS = frozenset(
    {
        "AZURE_CLIENT_CERTIFICATE_PASSWORD",
        "AZURE_CLIENT_SECRET",
        "AZURE_PASSWORD",
        "IDENTITY_HEADER",
        "MSI_SECRET",
    }
)


def environment(environ: Mapping[str, str], redis_url: str) -> dict[str, str]:
    """Give children what they need; the Redis URL may hold a password, so it is never argv.

    The safe path keeps modules that happen to lie in the working directory out of them.
    """
    own = {REDIS_URL: redis_url, "PYTHONSAFEPATH": "1"}
    return {"SKILLOPT_TIMING": "embedded", **environ, **own}


def without_keys(
    env: Mapping[str, str],
    backends: Iterable[Backend],
    but: Backend | None = None,
    *,
    besides: Iterable[str] = (),
) -> dict[str, str]:
    """Leave keys out, but those of one backend: a child gets no key it has no use for.

    `besides` names variables of keys that no backend here has.
    """
    signs_in = but is not None and but.azure is not None and but.azure.auth != "api_key"
    keys = {name for backend in backends for name in backend.key_variables}
    keys |= _USUAL_KEYS.union(besides, () if signs_in else _ENTRA_SECRETS)
    keys -= set(but.key_variables if but else ())
    return {name: value for name, value in env.items() if name not in keys}


def without_redis(env: Mapping[str, str]) -> dict[str, str]:
    """Leave the way to Redis out, for a child that has nothing to do with it."""
    return {name: value for name, value in env.items() if name != REDIS_URL}


def coordinator(store: Store, run: str, env: Mapping[str, str]) -> ChildSpec:
    health = store.health_dir / "coordinator"
    return ChildSpec(
        name="coordinator",
        argv=(
            *(sys.executable, "-m", "producer.coordinator"),
            *("--runs-dir", str(store.runs_dir), "--run", run),
            *("--health-file", str(health)),
        ),
        env=env,
        health_path=health,
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
    # Other stores of this machine may have workers of the same backend on a shared Redis.
    announced = f"{number}-{store.key[:8]}"
    health = store.health_dir / name
    return ChildSpec(
        name=name,
        argv=(
            *(sys.executable, "-m", "workers"),
            *("--backend", backend.name, "--backends", str(catalogue)),
            *("--name", announced, "--concurrency", str(concurrency), *lane),
            *("--health-file", str(health)),
        ),
        env=env,
        health_path=health,
        log_path=store.logs_dir / f"{name}.log",
        stop_order=StopOrder.WORKER,
    )

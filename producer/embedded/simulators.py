"""Simulators for backends of kind `simulated`: one child each, on a port of its own."""

from __future__ import annotations

import json
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from producer.embedded.child import ChildSpec, StopOrder
from producer.embedded.children import without_redis
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError, EmbeddedError
from skillopt.simulator.options import read_options

STARTUP_S = 20.0
POLL_S = 0.02


def behaviour_of(backend: Backend) -> str:
    """Ask what a simulated backend is: the running one, or the one that would be started."""
    if backend.base_url is None:
        return read_options(backend.simulator).behaviour
    parts = urlsplit(backend.base_url)
    url = f"{parts.scheme}://{parts.netloc}/behaviour"
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - checked by config
            return str(json.load(answer)["behaviour"])
    except (urllib.error.URLError, OSError, ValueError, KeyError) as error:
        raise ConfigError(
            f"backend {backend.name!r}: no simulator answers at {backend.base_url!r} ({error}); "
            "start it with `skillopt simulate`, or leave base_url out to have one started"
        ) from error


def start_simulators(
    supervisor: Supervisor,
    store: Store,
    backends: Mapping[str, Backend],
    env: Mapping[str, str],
    check: Callable[[], object],
) -> dict[str, Backend]:
    """Start what is missing; gives all backends with their base URLs filled in."""
    ready = dict(backends)
    for name, backend in backends.items():
        if backend.kind == "simulated" and backend.base_url is None:
            port_file = store.root / f"simulator-{name}.port"
            port_file.unlink(missing_ok=True)
            supervisor.start(_spec(store, backend, port_file, _free_port(), env))
            port = _wait_for_port(port_file, check)
            url = f"http://127.0.0.1:{port}/v1"
            ready[name] = backend.model_copy(update={"base_url": url})
    return ready


def _free_port() -> int:
    """Choose the port beforehand, so that a simulator started again is found where it was."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _spec(
    store: Store, backend: Backend, port_file: Path, port: int, env: Mapping[str, str]
) -> ChildSpec:
    flags = [
        part
        for name, value in backend.simulator.items()
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]
    health = store.health_dir / f"simulator-{backend.name}"
    return ChildSpec(
        name=f"simulator-{backend.name}",
        argv=(
            *(sys.executable, "-m", "skillopt.simulator", *flags),
            *("--port", str(port), "--port-file", str(port_file)),
            *("--health-file", str(health)),
        ),
        env=without_redis(env),
        health_path=health,
        log_path=store.logs_dir / f"simulator-{backend.name}.log",
        stop_order=StopOrder.SIMULATOR,
    )


def _wait_for_port(port_file: Path, check: Callable[[], object]) -> int:
    deadline = time.monotonic() + STARTUP_S
    while time.monotonic() < deadline:
        check()
        text = port_file.read_text() if port_file.exists() else ""
        if text.strip().isdigit():
            return int(text)
        time.sleep(POLL_S)
    raise EmbeddedError(f"the simulator did not name its port in {str(port_file)!r}")

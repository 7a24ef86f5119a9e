"""Running one kind of service until somebody asks to stop: workers here, coordinators there.

What they need beside the shared Redis (a resolved catalogue, health files) is in a private folder
that is gone with the command.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from producer.attached import attached
from producer.embedded.child import ChildSpec
from producer.embedded.children import environment, without_keys
from producer.embedded.redis_server import RedisServer
from producer.embedded.silence import SilenceRule
from producer.embedded.simulators import start_simulators
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor
from producer.interruption import Interrupted
from producer.services.backends import Served
from producer.services.children import NO_METRICS, Makings, MetricsPorts
from producer.services.group import RESTART, Lanes, ServiceGroup, stop_rule
from producer.services.pulse import telling_health
from producer.services.stop_signals import StopSignals
from skillopt.config.catalogue import dump_catalogue
from skillopt.config.runtime import timing
from skillopt.domain.backend import Backend
from skillopt.domain.timing import Timing
from skillopt.state.ports import State
from skillopt.telemetry.log_lines import FORMAT_VARIABLE, LogFormat


@dataclass(frozen=True)
class ServiceOptions:
    """What every supervised service is told."""

    redis_url: str
    environ: Mapping[str, str]
    log_format: LogFormat = "text"
    metrics: MetricsPorts = NO_METRICS
    health_file: Path | None = None

    @property
    def env(self) -> dict[str, str]:
        """The environment of its processes; a shared Redis has the timing of a team."""
        given = {"SKILLOPT_TIMING": "team", **self.environ, FORMAT_VARIABLE: self.log_format}
        return environment(given, self.redis_url)


@dataclass(frozen=True)
class Voice:
    """Who is told: that all services are ready, and what happens to them later."""

    ready: Callable[[], None]
    tell: Callable[[str], None]


def run_workers(
    options: ServiceOptions, served: Served, *, workers: int, concurrency: int | None, voice: Voice
) -> None:
    """Serve backends until asked to stop: calls in flight finish, the next signal cuts them."""
    with _group(options, "workers", voice) as (group, supervisor, folder, state):
        keyless = without_keys(options.env, served.backends.values(), besides=served.key_variables)
        backends = start_simulators(supervisor, folder, served.backends, keyless, group.look)
        makings = Makings(
            folder=folder,
            env=options.env,
            backends=backends,
            catalogue=write_catalogue(folder, backends),
            metrics=options.metrics.arguments(),
            key_variables=served.key_variables,
            concurrency=concurrency,
            logs_here=True,
        )
        start_workers(group, makings, workers)
        group.serve_quarantine(Lanes(state, quarantine_workers(makings)))
        stay(group, voice.ready)


def run_coordinators(
    options: ServiceOptions, store: Path, *, coordinators: int, voice: Voice
) -> None:
    """Look after the runs of a shared Redis until asked to stop; their folders are in a store."""
    runs_dir = Store.open(store).runs_dir
    with _group(options, "coordinators", voice) as (group, _, folder, _):
        makings = Makings(
            folder, options.env, {}, folder.root, options.metrics.arguments(), logs_here=True
        )
        for number in range(1, coordinators + 1):
            group.start(makings.coordinator(number, runs_dir))
        stay(group, voice.ready)


def start_workers(group: ServiceGroup, makings: Makings, count: int) -> None:
    for backend in makings.backends.values():
        for number in range(1, count + 1):
            group.start(makings.worker(backend, number))


def quarantine_workers(makings: Makings) -> dict[str, ChildSpec]:
    """Give the worker of each backend's quarantine lane; none is started by that."""
    return {
        name: makings.worker(backend, 1, quarantine=True)
        for name, backend in makings.backends.items()
    }


def write_catalogue(folder: Store, backends: Mapping[str, Backend]) -> Path:
    path = folder.root / "backends.resolved.yaml"
    path.write_text(dump_catalogue(backends), encoding="utf-8")
    return path


@contextmanager
def _group(
    options: ServiceOptions, name: str, voice: Voice
) -> Iterator[tuple[ServiceGroup, Supervisor, Store, State]]:
    durations = timing(options.env)
    with (
        tempfile.TemporaryDirectory(prefix="skillopt-") as folder,
        StopSignals() as signals,
        attached(options.redis_url, Path(folder)) as state,
        telling_health(options.health_file, name, durations) as pulse,
        supervising(signals, durations) as supervisor,
        until_stopped(voice.tell),
    ):
        store = Store(Path(folder).resolve())
        yield ServiceGroup(supervisor, signals, pulse, voice.tell), supervisor, store, state


def supervising(
    signals: StopSignals, durations: Timing, server: RedisServer | None = None
) -> Supervisor:
    """Make who keeps services running, and ends them as their timing says."""
    return Supervisor(
        server,
        restart=RESTART,
        stop=stop_rule(durations),
        silence=SilenceRule(between_s=durations.health_stale_s),
        hurry=signals.hurry.is_set,
    )


@contextmanager
def until_stopped(tell: Callable[[str], None]) -> Iterator[None]:
    """Take being asked to stop as the end that it is for a service, and say so."""
    try:
        yield
    except Interrupted:
        tell("stopping; once more cuts what is under way")


def stay(group: ServiceGroup, ready: Callable[[], None]) -> NoReturn:
    """Wait until all is ready, say so, and look after it until asked to stop."""
    group.wait_until_ready()
    ready()
    group.stay()

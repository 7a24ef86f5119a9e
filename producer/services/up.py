"""Everything a team needs, on one machine, by one command.

A private Redis of the store (or a shared one), workers of every backend, coordinators, the API with
its dashboard, and Flower: supervised, and gone when the command is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from producer.attached import attached
from producer.embedded.children import environment, without_keys
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer
from producer.embedded.simulators import start_simulators
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor
from producer.services.backends import Served
from producer.services.binding import LOOPBACK, free_port
from producer.services.children import NO_METRICS, Makings, MetricsPorts
from producer.services.credentials_file import Credentials, kept_credentials
from producer.services.group import Lanes, ServiceGroup
from producer.services.pulse import telling_health
from producer.services.running import (
    quarantine_workers,
    start_workers,
    stay,
    supervising,
    until_stopped,
    write_catalogue,
)
from producer.services.stop_signals import StopSignals
from producer.tokens import issue
from skillopt.config.runtime import timing
from skillopt.state.ports import State
from skillopt.state.urls import redacted
from skillopt.telemetry.log_lines import FORMAT_VARIABLE, LogFormat

COMMAND: Final = "skillopt up"
#: The name of the token that a Redis without any gets.
FIRST_NAME: Final = "up"


@dataclass(frozen=True)
class UpOptions:
    store: Path
    environ: Mapping[str, str]
    #: Whose runs are submitted with the first token.
    owner: str
    #: The catalogue, if it is not in one of the usual places; the API resolves names by it.
    backends_file: Path | None = None
    redis_url: str | None = None
    workers: int = 1
    concurrency: int | None = None
    coordinators: int = 1
    #: 0: any that is free.
    port: int = 0
    flower_port: int = 0
    flower: bool = True
    log_format: LogFormat = "text"
    metrics: MetricsPorts = NO_METRICS


@dataclass(frozen=True)
class Everything:
    """What is up, and the secrets that were made for it just now (None: made earlier)."""

    url: str
    flower_url: str | None
    redis: str
    backends: tuple[str, ...]
    store: Path
    token: str | None = None
    flower_credentials: Credentials | None = None
    flower_auth_file: Path | None = None


@dataclass(frozen=True)
class UpVoice:
    """Who is told what is up, once it is, and what happens later."""

    up: Callable[[Everything], None]
    tell: Callable[[str], None]


def run_up(options: UpOptions, served: Served, voice: UpVoice) -> None:
    """Start everything, tell where it is, and look after it until asked to stop.

    Raises ConfigError for what cannot be used, EmbeddedError for a service that does not come up.
    """
    store = Store.open(options.store)
    port = free_port(LOOPBACK, options.port, "--port")
    flower_port = free_port(LOOPBACK, options.flower_port, "--flower-port")
    with (
        StopSignals() as signals,
        StoreLock.acquire(store, command=COMMAND) as lock,
        _redis(options, lock) as (server, url),
    ):
        env = environment(_environ(options), url)
        durations = timing(env)
        with (
            attached(url, store.root) as state,
            telling_health(None, COMMAND, durations) as pulse,
            supervising(signals, durations, server) as supervisor,
            until_stopped(voice.tell),
        ):
            group = ServiceGroup(supervisor, signals, pulse, voice.tell)
            makings = _makings(options, served, store, env, group, supervisor)
            starting = _Starting(options, store, makings, group, state)
            starting.fleet()
            starting.api(port)
            if options.flower:
                starting.flower(flower_port)
            stay(group, lambda: voice.up(starting.done(redacted(url))))


class _Starting:
    """The services of one machine, as they are started."""

    def __init__(
        self,
        options: UpOptions,
        store: Store,
        makings: Makings,
        group: ServiceGroup,
        state: State,
    ) -> None:
        self._options = options
        self._store = store
        self._makings = makings
        self._group = group
        self._state = state
        self._urls: dict[str, str] = {}
        self._credentials: Credentials | None = None

    def fleet(self) -> None:
        makings = self._makings
        for number in range(1, self._options.coordinators + 1):
            self._group.start(makings.coordinator(number, self._store.runs_dir))
        start_workers(self._group, makings, self._options.workers)
        self._group.serve_quarantine(Lanes(self._state, quarantine_workers(makings)))

    def api(self, port: int) -> None:
        arguments = ["--store", str(self._store.root), "--port", str(port)]
        if self._options.backends_file is not None:
            arguments += ["--backends", str(self._options.backends_file.resolve())]
        self._group.start(self._makings.command("serve", *arguments))
        self._urls["api"] = f"http://{LOOPBACK}:{port}"

    def flower(self, port: int) -> None:
        # The child reads the file: a password is in nobody's arguments.
        credentials, made = kept_credentials(self._auth_file)
        arguments = ("--auth-file", str(self._auth_file), "--port", str(port))
        self._group.start(self._makings.command("flower", *arguments))
        self._urls["flower"] = f"http://{LOOPBACK}:{port}"
        self._credentials = credentials if made else None

    def done(self, redis: str) -> Everything:
        """Give what is up; the first time on a Redis, with a token to begin with."""
        token = None
        if not self._state.tokens.all():
            token = issue(
                self._state.tokens, name=FIRST_NAME, role="admin", owner=self._options.owner
            ).secret
        return Everything(
            url=self._urls["api"],
            flower_url=self._urls.get("flower"),
            redis=redis,
            backends=tuple(self._makings.backends),
            store=self._store.root,
            token=token,
            flower_credentials=self._credentials,
            flower_auth_file=self._auth_file if "flower" in self._urls else None,
        )

    @property
    def _auth_file(self) -> Path:
        return self._store.root / "flower-auth"


def _makings(
    options: UpOptions,
    served: Served,
    store: Store,
    env: Mapping[str, str],
    group: ServiceGroup,
    supervisor: Supervisor,
) -> Makings:
    keyless = without_keys(env, served.backends.values(), besides=served.key_variables)
    backends = start_simulators(supervisor, store, served.backends, keyless, group.look)
    return Makings(
        folder=store,
        env=env,
        backends=backends,
        catalogue=write_catalogue(store, backends),
        metrics=options.metrics.arguments(),
        key_variables=served.key_variables,
        concurrency=options.concurrency,
    )


def _environ(options: UpOptions) -> dict[str, str]:
    """Give children their environment; on a Redis of our own, faults are noticed fast."""
    profile = "embedded" if options.redis_url is None else "team"
    given = {"SKILLOPT_TIMING": profile, **options.environ}
    return {**given, FORMAT_VARIABLE: options.log_format}


@contextmanager
def _redis(options: UpOptions, lock: StoreLock) -> Iterator[tuple[RedisServer | None, str]]:
    if options.redis_url is not None:
        yield None, options.redis_url
        return
    with RedisServer.start(lock) as server:
        yield server, server.url

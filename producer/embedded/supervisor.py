"""Keeping the children of an embedded run alive, and ending them in order."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from types import TracebackType

from producer.embedded.child import (
    DEFAULT_RESTART_RULE,
    Child,
    ChildSpec,
    Death,
    RestartRule,
    launch_under_guard,
)
from producer.embedded.redis_server import RedisServer
from producer.embedded.silence import (
    DEFAULT_SILENCE_RULE,
    HealthSilence,
    ServerSilence,
    SilenceRule,
)
from skillopt.guarded import GuardedProcess, GuardTerms

POLL_S = 0.05
REDIS = "redis"


@dataclass(frozen=True)
class StopRule:
    """How children are made to end; durations in seconds from SIGTERM."""

    quit_after_s: float = 5.0
    kill_after_s: float = 10.0
    #: From SIGTERM to SIGKILL when the owner died without stopping its children.
    orphan_grace_s: float = 5.0


class Supervisor:
    """Owns named children and, if given, the Redis server they use.

    The owner calls `poll` regularly. Nothing outlives the owner: on `stop`, at the end of the
    `with` block, and if the owner is killed.
    """

    def __init__(
        self,
        server: RedisServer | None = None,
        *,
        restart: RestartRule = DEFAULT_RESTART_RULE,
        stop: StopRule = StopRule(),
        silence: SilenceRule = DEFAULT_SILENCE_RULE,
        hurry: Callable[[], bool] = lambda: False,
    ) -> None:
        """Supervise; while a stop goes on, `hurry` is asked whether to wait no longer."""
        self._hurry = hurry
        self._server = server
        self._restart_rule = restart
        self._stop_rule = stop
        self._silence_rule = silence
        self._children: dict[str, Child] = {}
        self._specs: list[ChildSpec] = []
        self._stopped = False
        self._server_signs: ServerSilence | None = None
        if server is not None:
            self._server_signs = ServerSilence(server.socket, silence)
            self._children[REDIS] = Child(
                REDIS,
                server.launch,
                server.process,
                log_path=server.log_path,
                rule=restart,
                silence=self._server_signs,
            )

    def start(self, spec: ChildSpec) -> None:
        """Start a child; raises EmbeddedError if not even its guard can be started."""
        if self._stopped:
            raise ValueError(f"child {spec.name!r} started after stop()")
        if spec.name in self._children:
            raise ValueError(f"there is a child {spec.name!r} already")
        hold = () if self._server is None else (self._server.clients_fd,)
        terms = GuardTerms(grace_s=self._stop_rule.orphan_grace_s, hold_fds=hold)
        launch = partial(launch_under_guard, spec, terms)
        rule = self._restart_rule if spec.restart else None
        signs = None
        if spec.health_path is not None:
            signs = HealthSilence(spec.health_path, self._silence_rule)
            signs.forget()
        self._children[spec.name] = Child(
            spec.name, launch, launch(), log_path=spec.log_path, rule=rule, silence=signs
        )
        self._specs.append(spec)

    def poll(self) -> list[Death]:
        """Start dead children again when their delay has passed; returns the deaths just seen.

        A child that hangs is killed, which is a death like any other. Raises EmbeddedError, naming
        the child and quoting its log, on a crash loop.
        """
        if self._stopped:
            return []
        deaths = [child.poll() for child in self._children.values()]
        return [death for death in deaths if death is not None]

    @property
    def server_is_silent(self) -> bool:
        """Whether our server did not answer when `poll` last asked: so whoever asks it waits."""
        return self._server_signs is not None and self._server_signs.silent

    def process(self, name: str) -> GuardedProcess:
        """The present process of a child (of the server: `"redis"`)."""
        return self._children[name].process

    def stop(self) -> None:
        """End all children, then the server. Idempotent."""
        self.stop_children()
        if self._server is not None:
            self._server.stop()

    def stop_children(self) -> None:
        """End all children, group by group in stop order, but not the server. Idempotent."""
        self._stopped = True
        ordered = sorted(self._specs, key=lambda spec: spec.stop_order)
        for _, group in groupby(ordered, key=lambda spec: spec.stop_order):
            self._stop_group([self._children[spec.name].process for spec in group])

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _stop_group(self, processes: Sequence[GuardedProcess]) -> None:
        began = time.monotonic()
        due = [
            (0.0, signal.SIGTERM),
            (self._stop_rule.quit_after_s, signal.SIGQUIT),
            (self._stop_rule.kill_after_s, signal.SIGKILL),
        ]
        while running := [process for process in processes if process.poll() is None]:
            if self._hurry():
                began = min(began, time.monotonic() - self._stop_rule.quit_after_s)
            while due and time.monotonic() - began >= due[0][0]:
                _, number = due.pop(0)
                for process in running:
                    process.signal(number)
            time.sleep(POLL_S)

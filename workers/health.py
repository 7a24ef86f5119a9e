"""Looks after a worker from inside: its watchdog, and what it tells in its health file."""

from __future__ import annotations

import time
from pathlib import Path

from skillopt.health import HealthFile
from skillopt.wire.broker import stored_as
from workers.consuming import Consuming
from workers.container import Container
from workers.moving_parts import parts_of
from workers.queue_probe import QueueProbe
from workers.watchdog import Watchdog


class WorkerHealth:
    """Whether this worker moves on, and whether it can work now."""

    def __init__(self, container: Container, consuming: Consuming, queue: str) -> None:
        self._container = container
        self._consuming = consuming
        self._draining = False
        self._file: HealthFile | None = None
        timing, stored = container.timing, stored_as(queue)
        self._probe = QueueProbe(
            lambda: container.state.server.queued([stored])[stored], timing.health_s
        )
        self._dog = Watchdog(
            parts_of(container.heartbeat, container.http, consuming, self._probe),
            lambda: self._probe.answers() and not container.heartbeat.state_away,
            limit_s=max(timing.watchdog_s, 3 * timing.heartbeat_s),
            period_s=timing.health_s,
        )

    def start(self, health_path: Path | None) -> None:
        if health_path is not None:
            name, stale_s = f"worker {self._container.name}", self._container.timing.health_stale_s
            self._file = HealthFile(health_path, name, stale_s)
        self._consuming.watch()
        self._probe.start()
        self._dog.start(self._file, self._not_ready)

    def drain(self) -> None:
        """Expect no progress any more: the worker leaves."""
        self._draining = True
        self._dog.turn_off()

    def end(self) -> None:
        self._dog.end()
        self._probe.end()
        if self._file is not None:
            self._file.remove()

    def _not_ready(self) -> tuple[str, ...]:
        timing, current_at = self._container.timing, self._container.heartbeat.current_at
        current = current_at is not None and (
            time.monotonic() - current_at <= 3 * timing.heartbeat_s
        )
        found = {
            "it is draining": self._draining,
            "the state does not answer": not self._probe.answers(),
            "it is not connected to its queue": not self._consuming.connected,
            "its heartbeats do not reach the state": not current,
        }
        return tuple(words for words, holds in found.items() if holds)

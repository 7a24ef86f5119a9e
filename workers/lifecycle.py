"""Boot, serve, drain, stop.

TERM stops consuming; jobs that only wait are given back at once, calls in flight get the drain
time to finish and are then cut and given back. A second TERM, or QUIT, cuts them at once; INT is
like TERM. Whatever is left some seconds later (the state is away, a thread hangs) dies with the
process and is sent again when its lease lapses.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from celery import signals
from celery.worker import state as celery_state

from workers.app import create_app
from workers.consuming import Consuming
from workers.container import Container
from workers.health import WorkerHealth
from workers.held import Stop
from workers.quick_consumer import QuickConsumer

log = logging.getLogger(__name__)

#: How long giving jobs back and stopping Celery may take once the drain time is over.
LEAVE_S = 5.0


def serve(
    container: Container,
    broker_url: str,
    *,
    queue: str,
    concurrency: int,
    health_path: Path | None = None,
) -> int:
    """Run the worker until it is told to stop; gives the exit code."""
    app = create_app(container, broker_url)
    worker = app.Worker(
        hostname=container.name,
        pool="threads",
        concurrency=concurrency,
        queues=[queue],
        consumer_cls=QuickConsumer,
        without_gossip=True,
        without_mingle=True,
        # Our logs, our format: no banner between their lines.
        quiet=True,
        loglevel="WARNING",
    )
    consuming = Consuming(worker, queue)
    health = WorkerHealth(container, consuming, queue)
    drain = Drain(container, health)

    def announce(**_: object) -> None:
        container.heartbeat.start(lambda: consuming.connected)

    signals.worker_ready.connect(drain.take_signals, weak=False)
    # Not sooner: only now does a TERM end in a drain, which takes the announcement back.
    signals.worker_ready.connect(announce, weak=False)
    signals.worker_shutting_down.connect(drain.in_boot, weak=False)
    health.start(health_path)
    worker.start()
    container.close()
    health.end()
    # Threads that never came back must not keep a process that has given its jobs back.
    logging.shutdown()
    os._exit(worker.exitcode or 0)


class Drain:
    """What happens between the first signal to stop and the end."""

    def __init__(self, container: Container, health: WorkerHealth) -> None:
        self._container = container
        self._health = health
        self._begun = False

    def take_signals(self, **_: object) -> None:
        """Answer signals ourselves: Celery's QUIT fails when a pool of threads has work."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):
            signal.signal(number, self._on_signal)

    def in_boot(self, **_: object) -> None:
        """Celery was told to stop before we took over: nothing is held yet."""
        self._begin(hurry=False)

    def _on_signal(self, number: int, _: object) -> None:
        log.warning("told to stop by %s", signal.Signals(number).name, extra={"event": "told"})
        self._begin(hurry=self._begun or number == signal.SIGQUIT)
        celery_state.should_stop = 0

    def _begin(self, *, hurry: bool) -> None:
        """Begin to drain; or come to its end at once."""
        self._begun = True
        self._health.drain()
        drain_s = 0.0 if hurry else self._container.timing.drain_s
        _after(drain_s, lambda: _cut(self._container))
        _after(drain_s + LEAVE_S, _leave)
        for held in self._container.heartbeat.held():
            if held.cancel is None:
                held.tell_to_stop(Stop.DRAINING)
            else:
                held.wait_no_more()


def _after(seconds: float, action: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


def _cut(container: Container) -> None:
    for held in container.heartbeat.held():
        held.tell_to_stop(Stop.DRAINING)


def _leave() -> None:
    log.error("jobs did not stop in time: left to their leases", extra={"event": "left"})
    logging.shutdown()
    os._exit(1)

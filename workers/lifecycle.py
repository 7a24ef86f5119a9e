"""Boot, serve, drain, stop.

TERM stops consuming; jobs that only wait are given back at once, calls in flight get the drain
time to finish and are then cut and given back. Whatever is left some seconds later (the state is
away, a thread hangs) dies with the process and is sent again when its lease lapses.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable

from celery import signals

from workers.app import create_app
from workers.container import Container
from workers.heartbeat import Stop

log = logging.getLogger(__name__)

#: How long giving jobs back and stopping Celery may take once the drain time is over.
LEAVE_S = 5.0


def serve(container: Container, broker_url: str, *, queue: str, concurrency: int) -> int:
    """Run the worker until it is told to stop; gives the exit code."""
    app = create_app(container, broker_url)

    def announce(**_: object) -> None:
        container.heartbeat.start()

    def drain(**_: object) -> None:
        drain_s = container.timing.drain_s
        _after(drain_s, lambda: _cut(container))
        _after(drain_s + LEAVE_S, _leave)
        for held in container.heartbeat.held():
            if held.cancel is None:
                held.tell_to_stop(Stop.DRAINING)
            else:
                held.wait_no_more()

    # Not sooner: only now does a TERM end in a drain, which takes the announcement back.
    signals.worker_ready.connect(announce, weak=False)
    signals.worker_shutting_down.connect(drain, weak=False)
    worker = app.Worker(
        hostname=container.name,
        pool="threads",
        concurrency=concurrency,
        queues=[queue],
        without_gossip=True,
        without_mingle=True,
        loglevel="WARNING",
    )
    worker.start()
    container.close()
    # Threads that never came back must not keep a process that has given its jobs back.
    logging.shutdown()
    os._exit(worker.exitcode or 0)


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

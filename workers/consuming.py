"""How the Celery worker of this process consumes, as seen from its other threads."""

from __future__ import annotations

from typing import Any, Final

from celery import signals

#: How often the consumer's loop shows that it turns.
TURN_S: Final = 1.0


class Consuming:
    """What can be seen of a worker's consumer from another thread.

    Nothing here blocks, and what is seen may be outdated at once.
    """

    def __init__(self, worker: Any, queue: str) -> None:  # noqa: ANN401 - Celery's worker
        self._worker = worker
        self._queue = queue
        #: How often its loop was seen to turn; it does not while it waits for the broker.
        self.turns = 0
        #: Messages taken from the queue, whatever came of them.
        self.taken = 0

    def watch(self) -> None:
        """Begin to count. Call it once, before the worker starts."""
        signals.worker_ready.connect(self._on_ready, weak=False)
        for signal in (signals.task_received, signals.task_unknown, signals.task_rejected):
            signal.connect(self._on_message, weak=False)

    @property
    def connected(self) -> bool:
        """Whether it is connected to the broker and listens to its queue."""
        consumer = self._worker.consumer
        tasks = getattr(consumer, "task_consumer", None)
        connection = getattr(consumer, "connection", None)
        if tasks is None or connection is None:
            return False
        return bool(connection.connected and tasks.consuming_from(self._queue))

    @property
    def has_room(self) -> bool:
        """Whether it would take another message: not while every slot has its job."""
        tasks = getattr(self._worker.consumer, "task_consumer", None)
        channel = getattr(tasks, "channel", None)
        qos = getattr(channel, "qos", None)
        return qos is None or bool(qos.can_consume())

    def _on_ready(self, **_: object) -> None:
        # Added when the loop is set up, the timer outlives every connection.
        self._worker.hub.call_repeatedly(TURN_S, self._on_turn)

    def _on_turn(self) -> None:
        self.turns += 1

    def _on_message(self, **_: object) -> None:
        self.taken += 1

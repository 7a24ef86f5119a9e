"""How many messages wait in this worker's queue, and whether their server answers at all."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from skillopt.errors import SkillOptError

log = logging.getLogger(__name__)


class QueueProbe:
    """Asks the server how many messages wait, without ever making its reader wait for it."""

    def __init__(self, ask: Callable[[], int], period_s: float) -> None:
        self._ask = ask
        self._period_s = period_s
        self._answered_at: float | None = None
        #: Messages in the queue when the server last answered.
        self.waiting = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="queue-probe", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._end.set()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def answers(self) -> bool:
        """Whether the server answered lately."""
        at = self._answered_at
        return at is not None and time.monotonic() - at <= 3 * self._period_s

    def _loop(self) -> None:
        while True:
            try:
                self.waiting = self._ask()
                self._answered_at = time.monotonic()
            except SkillOptError as error:
                log.debug("no answer: %s", error)
            if self._end.wait(self._period_s):
                return

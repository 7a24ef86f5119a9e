"""Notices that this process stands still while work waits, and ends it to be started again.

Waiting is not standing still: for a throttle, a hold, a call within its time, or a Redis that is
away. Time counts only while the state answers, and only in the small steps that this thread sees
pass: a process that was stopped for an hour starts with a clean slate.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from skillopt.health import STOOD_STILL, Condition, HealthFile

log = logging.getLogger(__name__)


class Part(Protocol):
    """A part of the process that must move on."""

    def stands(self) -> str | None:
        """Say in words what does not move; None if it moved since the last look, or may wait."""
        ...


class Watchdog:
    """Looks at every part of the process once in a period."""

    def __init__(
        self,
        parts: Sequence[Part],
        answers: Callable[[], bool],
        *,
        limit_s: float,
        period_s: float,
        leave: Callable[[int], object] = os._exit,
    ) -> None:
        self._parts = parts
        self._answers = answers
        self._limit_s = limit_s
        self._period_s = period_s
        self._leave = leave
        self._still_s = [0.0] * len(parts)
        self._off = threading.Event()
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(
        self,
        health: HealthFile | None = None,
        not_ready: Callable[[], tuple[str, ...]] = tuple,
    ) -> None:
        """Watch from a thread of its own, and tell `health` that it does."""
        if health is not None:
            health.write(Condition(not_ready=("it is starting",)))
        arguments = [health, not_ready]
        self._thread = threading.Thread(
            target=self._loop, args=arguments, name="watchdog", daemon=True
        )
        self._thread.start()

    def turn_off(self) -> None:
        """Judge no longer: the process is leaving, in its own time. Its health is still told."""
        self._off.set()

    def end(self) -> None:
        """Look no more, and tell nothing more."""
        self._off.set()
        self._end.set()
        if self._thread is not None:
            self._thread.join(timeout=self._period_s)

    def look(self, passed_s: float) -> None:
        """Look once, `passed_s` after the last time; ends the process if a part stands still."""
        answers, stuck = self._answers(), list[str]()
        for number, part in enumerate(self._parts):
            why = part.stands()
            if why is None or not answers:
                self._still_s[number] = 0.0
                continue
            # A longer step than was meant was not watched: nobody could have moved in it.
            self._still_s[number] += min(passed_s, 2 * self._period_s)
            if self._still_s[number] >= self._limit_s:
                stuck.append(f"{why} for {self._still_s[number]:.0f} s")
        if stuck:
            log.error(
                "no progress although the state answers: %s; leaving to be started again",
                "; ".join(stuck),
                extra={"event": "stood_still"},
            )
            logging.shutdown()
            self._leave(STOOD_STILL)

    def _loop(self, health: HealthFile | None, not_ready: Callable[[], tuple[str, ...]]) -> None:
        before = time.monotonic()
        while not self._end.wait(self._period_s):
            now = time.monotonic()
            if not self._off.is_set():
                self.look(now - before)
            before = now
            if health is not None:
                health.try_to_write(Condition(not_ready=not_ready()))

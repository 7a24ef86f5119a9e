"""The health of a service that lives by one loop: it is well as long as the loop turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from skillopt.domain.timing import Timing
from skillopt.health import Condition, HealthFile, keep_reporting


class Pulse:
    """Counts the turns of a loop; another thread tells what follows from them."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._turned_at: float | None = None
        #: Why it cannot work although its loop turns, in words.
        self.not_ready: Callable[[], tuple[str, ...]] = tuple

    def beat(self) -> None:
        """Say that the loop has come round."""
        self._turned_at = time.monotonic()

    def condition(self) -> Condition:
        if self._turned_at is None:
            return Condition(not_ready=("it is starting",))
        silent_s = time.monotonic() - self._turned_at
        stuck = (f"its loop has not turned for {silent_s:.0f} s",)
        return Condition(stuck if silent_s > self._limit_s else (), self.not_ready())


@contextmanager
def telling_health(path: Path | None, name: str, durations: Timing) -> Iterator[Pulse]:
    """Tell the health of this process in a file, if one is named, for the length of the block.

    Raises ConfigError if the file cannot be written.
    """
    pulse, end = Pulse(durations.watchdog_s), threading.Event()
    if path is None:
        yield pulse
        return
    file = HealthFile(path, name, durations.health_stale_s)
    thread = keep_reporting(file, pulse.condition, durations.health_s, end)
    try:
        yield pulse
    finally:
        end.set()
        thread.join(timeout=durations.health_s)

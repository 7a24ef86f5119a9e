"""Being told to end: a service finishes what it has begun, and hurries if it is told twice."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from producer.interruption import Interrupted


class StopSignals:
    """The first SIGINT or SIGTERM asks to stop, the next one to hurry. Use it as a context.

    Outside of the main thread, which alone gets signals, nothing is ever asked for.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.hurry = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def raise_if_stopped(self) -> None:
        """Leave what is going on, by Interrupted, if it was asked for."""
        if self.stop.is_set():
            raise Interrupted

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            # None: set by a program around Python, which alone could set it again.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop.is_set():
            self.hurry.set()
        self.stop.set()

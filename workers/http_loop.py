"""One event loop per worker process: all its HTTP calls share it, whatever thread asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from typing import Any, TypeVar

from workers.held import Held, JobStopped, Stop

T = TypeVar("T")

#: How long a call that was cut may take to end.
CUT_S = 1.0


class HttpLoop:
    """An asyncio loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._thread.start()
        #: How often it was seen to turn.
        self.turns = 0

    def nudge(self) -> None:
        """Ask for a turn: `turns` grows once the loop has come round."""
        self._loop.call_soon_threadsafe(self._count_turn)

    @property
    def alive(self) -> bool:
        return self._thread.is_alive()

    def _count_turn(self) -> None:
        self.turns += 1

    def call(self, coroutine: Coroutine[Any, Any, T], held: Held, timeout_s: float) -> T:
        """Run a call to its end for a job. Raises TimeoutError, or JobStopped if it was cut."""
        future = asyncio.run_coroutine_threadsafe(
            asyncio.wait_for(coroutine, timeout_s), self._loop
        )
        held.cancel = future.cancel
        if held.stop is not None and held.stop is not Stop.LOST:
            future.cancel()
        try:
            return future.result()
        except CancelledError:
            raise JobStopped(held.stop or Stop.DRAINING) from None
        finally:
            held.cancel = None

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something that belongs to no job (closing a client)."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def close(self) -> None:
        """Cut what is still running and end the loop."""
        self.run(_cut_others())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cut_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        if not task.cancelling():  # cut again, it would not end what it is just ending
            task.cancel()
    if others:
        await asyncio.wait(others, timeout=CUT_S)

"""Values that take long to make, kept for a while: the most recently used of them."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class Remembered(Generic[V]):
    """Keeps at most `most` values; with `for_s`, each for so long. It may be shared by threads:
    two that ask for the same value at once may both make it.
    """

    def __init__(
        self,
        most: int,
        *,
        for_s: float | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._for_s = for_s
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[float, V]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], V]) -> V:
        """Give the value of a key, made if it is not kept."""
        known = self.find(key)
        if known is not None:
            return known
        value = make()
        self.keep(key, value)
        return value

    def find(self, key: Hashable) -> V | None:
        with self._lock:
            known = self._values.get(key)
            if known is None or not self._is_fresh(known[0]):
                return None
            self._values.move_to_end(key)
            return known[1]

    def keep(self, key: Hashable, value: V) -> None:
        with self._lock:
            self._values[key] = (self._monotonic(), value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def _is_fresh(self, made_at: float) -> bool:
        return self._for_s is None or self._monotonic() - made_at < self._for_s

"""A mapping whose entries end by themselves, as keys with a TTL do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

_V = TypeVar("_V")

Clock = Callable[[], float]


class Expiring(Generic[_V]):
    """Values by key, each until its time is up by the given clock."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._entries: dict[str, tuple[_V, float]] = {}

    def get(self, key: str) -> _V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        value, end = entry
        if end <= self._clock():
            del self._entries[key]
            return None
        return value

    def put(self, key: str, value: _V, ttl_s: float) -> None:
        self._entries[key] = (value, self._clock() + ttl_s)

    def renew(self, key: str, ttl_s: float) -> None:
        """Let an entry live this long from now; one that has ended stays ended."""
        value = self.get(key)
        if value is not None:
            self.put(key, value, ttl_s)

    def drop(self, key: str) -> None:
        self._entries.pop(key, None)

    def remaining_s(self, key: str) -> float:
        return self._entries[key][1] - self._clock() if key in self else 0.0

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def present(self) -> list[str]:
        return [key for key in list(self._entries) if key in self]

    def values(self) -> list[_V]:
        found = (self.get(key) for key in list(self._entries))
        return [value for value in found if value is not None]

"""Holds on credentials, in memory."""

from __future__ import annotations

from skillopt.state.memory.tables import Tables


class MemoryHolds:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def hold(self, credential: str, *, for_s: float) -> None:
        with self._tables.changed:
            if for_s > self._tables.holds.remaining_s(credential):
                self._tables.holds.put(credential, True, for_s)

    def remaining_s(self, credential: str) -> float:
        with self._tables.changed:
            return self._tables.holds.remaining_s(credential)

"""Doorbells, in memory."""

from __future__ import annotations

from skillopt.state.memory.tables import Tables


class MemoryDoorbell:
    """A cursor is the number of rings so far. Waiting takes real time, whatever the clock."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def wait(self, run: str, cursor: str, *, timeout_s: float) -> str:
        tables = self._tables
        with tables.changed:
            seen = int(cursor) if cursor else tables.rings.get(run, 0)
            tables.changed.wait_for(lambda: tables.rings.get(run, 0) > seen, max(0.0, timeout_s))
            return str(tables.rings.get(run, 0))

    def ring(self, run: str) -> None:
        with self._tables.changed:
            self._tables.ring(run)

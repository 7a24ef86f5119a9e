"""Which runs are watched, in memory."""

from __future__ import annotations

from dataclasses import replace

from skillopt.state.memory.tables import Tables
from skillopt.state.ports.notices import WatchedRun


class MemoryNotices:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def watch(self, run: str, target: str, *, cursor: int = 0) -> None:
        with self._tables.changed:
            known = self._tables.notices.get(run) or WatchedRun(target, cursor)
            self._tables.notices[run] = replace(known, target=target)

    def unwatch(self, run: str) -> None:
        with self._tables.changed:
            self._tables.notices.pop(run, None)

    def runs(self) -> list[str]:
        with self._tables.changed:
            return sorted(self._tables.notices)

    def get(self, run: str) -> WatchedRun | None:
        with self._tables.changed:
            return self._tables.notices.get(run)

    def take(self, run: str, owner: str) -> bool:
        tables = self._tables
        with tables.changed:
            if tables.telling.get(run) not in (None, owner):
                return False
            tables.telling.put(run, owner, tables.timing.lead_s)
            return True

    def advance(self, run: str, cursor: int) -> None:
        with self._tables.changed:
            known = self._tables.notices.get(run)
            if known is not None:
                further = max(cursor, known.cursor)
                self._tables.notices[run] = replace(known, cursor=further)

    def mark(self, run: str, news: str) -> None:
        with self._tables.changed:
            known = self._tables.notices.get(run)
            if known is not None:
                self._tables.notices[run] = replace(known, told=known.told | {news})

"""The memory of this process as a server: nothing is kept, and there is no broker."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import ServerFacts


class MemoryServer:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def facts(self) -> ServerFacts:
        return ServerFacts(version="memory", writable=True, append_only=False)

    def now(self) -> float:
        return self._tables.clock()

    def oldest(self, lists: Sequence[str]) -> dict[str, bytes]:
        return {}

    def queued(self, lists: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(lists, 0)

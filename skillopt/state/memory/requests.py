"""What people ask of a run, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import PendingRequest


class MemoryRequests:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def post(self, run: str, request: str) -> str:
        tables = self._tables
        with tables.changed:
            tables.request_number += 1
            posted = PendingRequest(f"{tables.request_number}-0", request)
            pending = (*(tables.requests.get(run) or ()), posted)
            tables.requests.put(run, pending, tables.timing.doorbell_ttl_s)
            tables.ring(run)
            return posted.id

    def pending(self, run: str) -> list[PendingRequest]:
        with self._tables.changed:
            return list(self._tables.requests.get(run) or ())

    def settle(self, run: str, ids: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            left = tuple(one for one in tables.requests.get(run) or () if one.id not in ids)
            tables.requests.put(run, left, tables.timing.doorbell_ttl_s)

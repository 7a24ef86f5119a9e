"""What owners may have at once, in memory."""

from __future__ import annotations

from dataclasses import replace

from skillopt.errors import QuotaExceeded
from skillopt.state.memory.tables import RunRecord, Tables
from skillopt.state.ports import OwnerQuota


class MemoryQuotas:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def set(self, owner: str, *, max_runs: int | None, max_window: int | None) -> None:
        with self._tables.changed:
            if max_runs is None and max_window is None:
                self._tables.quotas.pop(owner, None)
            else:
                self._tables.quotas[owner] = OwnerQuota(owner, max_runs, max_window)

    def get(self, owner: str) -> OwnerQuota:
        with self._tables.changed:
            limits = self._tables.quotas.get(owner, OwnerQuota(owner))
            return replace(limits, runs=open_runs_of(self._tables, owner))

    def all(self) -> list[OwnerQuota]:
        with self._tables.changed:
            owners = {record.meta.get("owner", "") for record in self._open()}
            return [self.get(owner) for owner in sorted({*owners, *self._tables.quotas} - {""})]

    def _open(self) -> list[RunRecord]:
        return [record for record in self._tables.runs.values() if record.open]


def open_runs_of(tables: Tables, owner: str) -> int:
    runs = tables.runs.values()
    return sum(record.open and record.meta.get("owner", "") == owner for record in runs)


def require_room(tables: Tables, owner: str) -> None:
    """Raise QuotaExceeded if an owner may not have one more open run."""
    limit = tables.quotas[owner].max_runs if owner in tables.quotas else None
    count = open_runs_of(tables, owner)
    if limit is not None and count >= limit:
        raise QuotaExceeded(owner, count, limit)

"""What runs want of each backend, in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import Demand


@dataclass(frozen=True)
class KnownDemand:
    demand: Demand
    since: float
    until: float


class MemoryShares:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._known: dict[str, dict[str, KnownDemand]] = {}

    def report(self, backend: str, demand: Demand) -> list[Demand]:
        tables = self._tables
        with tables.changed:
            now = tables.clock()
            known = self._live(backend)
            before = known.get(demand.run)
            since = now if before is None else before.since
            known[demand.run] = KnownDemand(demand, since, now + tables.timing.demand_s)
            return self._ordered(known)

    def withdraw(self, backend: str, run: str) -> None:
        with self._tables.changed:
            self._known.get(backend, {}).pop(run, None)

    def demands(self, backend: str) -> list[Demand]:
        with self._tables.changed:
            return self._ordered(self._live(backend))

    def _live(self, backend: str) -> dict[str, KnownDemand]:
        now = self._tables.clock()
        known = self._known.get(backend, {})
        self._known[backend] = {run: one for run, one in known.items() if one.until > now}
        return self._known[backend]

    def _ordered(self, known: dict[str, KnownDemand]) -> list[Demand]:
        found = sorted(known.values(), key=lambda one: (one.since, one.demand.run))
        return [
            replace(one.demand, owner_window=self._owner_window(one.demand.owner)) for one in found
        ]

    def _owner_window(self, owner: str) -> int | None:
        quota = self._tables.quotas.get(owner)
        return None if quota is None else quota.max_window

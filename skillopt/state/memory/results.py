"""Results, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import Lead, StoredResult


class MemoryResults:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def get(self, jobs: Sequence[str]) -> dict[str, StoredResult]:
        tables = self._tables
        found: dict[str, StoredResult] = {}
        with tables.changed:
            for job in jobs:
                committed = tables.results.get(job)
                if committed is not None:
                    found[job] = committed.result
                    tables.results.renew(job, tables.timing.result_ttl_s)
                    tables.skills.renew(committed.skill or "", tables.timing.result_ttl_s)
        return found

    def forget(self, lead: Lead, jobs: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            tables.require_lead(lead)
            for job in jobs:
                committed = tables.results.get(job)
                if committed is not None and committed.skill:
                    (tables.skills.get(committed.skill) or set()).discard(job)
                tables.results.drop(job)
                tables.ledgers.get(lead.run, {}).pop(job, None)

    def of_skill(self, skill: str) -> list[str]:
        tables = self._tables
        with tables.changed:
            jobs = tables.skills.get(skill) or set()
            return sorted(job for job in jobs if job in tables.results)

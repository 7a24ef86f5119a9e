"""Jobs that went wrong, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.state.memory.tables import JobRecord, Tables
from skillopt.state.ports import TroubledJob


class MemoryDead:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def jobs(self) -> list[str]:
        with self._tables.changed:
            return sorted(self._tables.dead.present())

    def look(self, jobs: Sequence[str]) -> dict[str, TroubledJob]:
        tables = self._tables
        found: dict[str, TroubledJob] = {}
        with tables.changed:
            for job in jobs:
                dead, record = tables.dead.get(job), tables.jobs.get(job)
                if dead is None and record is None:
                    continue
                record = record or JobRecord()
                found[job] = TroubledJob(
                    job,
                    reason=record.reason if dead is None else dead,
                    died_at=None if dead is None else record.died_at,
                    claims=record.claims,
                    quarantine_claims=record.quarantine_claims,
                    rounds=record.rounds,
                    claimed_by=record.claimed_by,
                    sent_at=None if record.claimed else record.sent,
                    runs=tuple(sorted(tables.waiting(job))),
                    spec=tables.specs.get(job),
                )
        return found

    def revive(self, jobs: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            for job in jobs:
                if job not in tables.leases:
                    tables.forget_trouble(job)
                    tables.ring_waiters(job)

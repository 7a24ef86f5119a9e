"""The worker's side of the jobs, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.state.memory.tables import Committed, JobRecord, Tables
from skillopt.state.ports import (
    NO_ROUND,
    Claim,
    ClaimStatus,
    Finished,
    Lane,
    RenewStatus,
    StoredResult,
)


class MemoryClaims:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def claim(self, job: str, *, run: str, owner: str, lane: Lane) -> Claim:
        tables = self._tables
        with tables.changed:
            if job in tables.results:
                return Claim(ClaimStatus.DONE)
            if job in tables.dead:
                return Claim(ClaimStatus.DEAD)
            spec, holder = tables.specs.get(job), tables.leases.get(job)
            if holder == owner and spec is not None:
                record = tables.job(job)
                return Claim(ClaimStatus.RUN, spec, record.repaid, record.all_claims)
            if holder is not None:
                return Claim(ClaimStatus.BUSY)
            record = tables.jobs.get(job) or JobRecord()
            if spec is None or run not in tables.waiting(job):
                # The message is used up: whoever wants the job next must send another one.
                record.forget_message()
                if spec is not None:
                    tables.ring_waiters(job)
                return Claim(ClaimStatus.UNKNOWN if spec is None else ClaimStatus.UNWANTED)
            refused = self._refusal(job, record, lane)
            if refused is not None:
                return Claim(refused)
            waited_s = None if record.sent is None else max(0.0, tables.clock() - record.sent)
            repaid = self._take(job, run, owner, lane)
            return Claim(ClaimStatus.RUN, spec, repaid, tables.job(job).all_claims, waited_s)

    def _refusal(self, job: str, record: JobRecord, lane: Lane) -> ClaimStatus | None:
        tables = self._tables
        if lane == "normal" and record.claims >= tables.timing.max_lost_claims:
            tables.ring_waiters(job)
            return ClaimStatus.QUARANTINED
        limit = tables.timing.max_quarantine_claims
        if lane == "quarantine" and record.quarantine_claims >= limit:
            tables.bury(job, record)
            return ClaimStatus.DEAD
        return None

    def _take(self, job: str, run: str, owner: str, lane: Lane) -> int:
        tables = self._tables
        record, meter = tables.job(job), tables.meter(run)
        tables.leases.put(job, owner, tables.timing.lease_s)
        if lane == "quarantine":
            record.quarantine_claims += 1
        else:
            record.claims += 1
        record.claimed, record.claim_lane, record.held_until = True, lane, None
        record.claimed_by = owner
        record.repaid, record.calls = record.calls, 0
        meter.executions += 1
        meter.repaid_calls += record.repaid
        return record.repaid

    def renew(self, leases: Mapping[str, str]) -> dict[str, RenewStatus]:
        tables = self._tables
        statuses: dict[str, RenewStatus] = {}
        with tables.changed:
            for job, owner in leases.items():
                if tables.leases.get(job) != owner:
                    statuses[job] = RenewStatus.LOST
                    continue
                tables.leases.renew(job, tables.timing.lease_s)
                waited_for = tables.waiting(job)
                statuses[job] = RenewStatus.OK if waited_for else RenewStatus.UNWANTED
        return statuses

    def release(
        self, job: str, *, owner: str, delay_s: float, reason: str, drop_run: str | None = None
    ) -> bool:
        tables = self._tables
        with tables.changed:
            if tables.leases.get(job) != owner:
                return False
            tables.leases.drop(job)
            record = tables.job(job)
            record.uncount_claim()
            record.held_until = tables.clock() + max(0.0, delay_s)
            record.reason = reason
            record.rounds += reason.partition(":")[0].strip() not in NO_ROUND
            tables.ring_waiters(job)
            if drop_run is not None:
                tables.waiting(job).discard(drop_run)
            return True

    def abandon(self, job: str, *, owner: str) -> bool:
        tables = self._tables
        with tables.changed:
            if tables.leases.get(job) != owner or tables.waiting(job):
                return False
            tables.leases.drop(job)
            tables.job(job).uncount_claim()
            return True

    def commit(self, finished: Sequence[Finished], *, owner: str) -> list[bool]:
        tables = self._tables
        with tables.changed:
            waiting = {run for one in finished for run in tables.waiting(one.job)}
            won = [self._commit(one, owner) for one in finished]
            for run in sorted(waiting):
                tables.ring(run)
            return won

    def _commit(self, one: Finished, owner: str) -> bool:
        tables, job = self._tables, one.job
        ttl_s = tables.timing.result_ttl_s
        committed = tables.results.get(job)
        if committed is None:
            result = StoredResult(one.line, one.body, one.receipt)
            spec = tables.specs.get(job)
            committed = Committed(result, owner, one.skill, spec, tables.clock())
            tables.results.put(job, committed, ttl_s)
            if one.skill:
                tables.skills.put(one.skill, {*(tables.skills.get(one.skill) or ()), job}, ttl_s)
        if tables.leases.get(job) == owner:
            tables.leases.drop(job)
        tables.jobs.drop(job)
        tables.waiters.drop(job)
        tables.dead.drop(job)
        tables.specs.drop(job)
        return committed.owner == owner

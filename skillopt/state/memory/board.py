"""The coordinator's side of the jobs, in memory."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.state.memory.tables import JobRecord, Tables
from skillopt.state.ports import Lane, Lead, Want, WantAnswer, WantStatus


class MemoryBoard:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def want(self, lead: Lead, wants: Sequence[Want], *, room: int) -> list[WantAnswer]:
        tables = self._tables
        answers: list[WantAnswer] = []
        with tables.changed:
            tables.require_lead(lead)
            for want in wants:
                answer = self._known(lead.run, want.job)
                if answer is None and room <= 0:
                    answer = _answer(want.job, WantStatus.LATER, tables.jobs.get(want.job))
                if answer is None:
                    answer = self._register(lead.run, want)
                    room -= answer.status is not WantStatus.DEAD
                answers.append(answer)
        return answers

    def _known(self, run: str, job: str) -> WantAnswer | None:
        """Answer a want that needs no work: its result is there, or it is given up."""
        tables, timing = self._tables, self._tables.timing
        ledger = tables.ledgers.setdefault(run, {})
        committed = tables.results.get(job)
        if committed is not None:
            tables.results.renew(job, timing.result_ttl_s)
            if committed.skill:
                tables.skills.renew(committed.skill, timing.result_ttl_s)
            ledger.setdefault(job, committed.result.line)
        if job in ledger:
            return WantAnswer(job, WantStatus.HIT, line=ledger[job])
        reason = tables.dead.get(job)
        if reason is None:
            return None
        tables.dead.renew(job, timing.spec_ttl_s)
        tables.jobs.renew(job, timing.spec_ttl_s)
        record = tables.jobs.get(job)
        return WantAnswer(
            job, WantStatus.DEAD, reason=reason, rounds=record.rounds if record else 0
        )

    def _register(self, run: str, want: Want) -> WantAnswer:
        tables, timing, job = self._tables, self._tables.timing, want.job
        tables.specs.put(job, want.spec, timing.spec_ttl_s)
        tables.waiters.put(job, {*tables.waiting(job), run}, timing.spec_ttl_s)
        record = tables.job(job)
        lane: Lane = "quarantine" if record.claims >= timing.max_lost_claims else "normal"
        if job in tables.leases:
            return _answer(job, WantStatus.LEASED, record, lane)
        now = tables.clock()
        if record.held_until is not None and record.held_until > now:
            return _answer(job, WantStatus.HELD, record, lane, record.held_until - now)
        if lane == "quarantine" and record.quarantine_claims >= timing.max_quarantine_claims:
            reason = tables.bury(job, record)
            return WantAnswer(job, WantStatus.DEAD, reason=reason, rounds=record.rounds)
        if self._is_queued(record, now):
            return _answer(job, WantStatus.QUEUED, record, lane)
        lost_on_the_way = (
            record.sent is not None and not record.claimed and record.held_until is None
        )
        record.sends = record.sends + 1 if lost_on_the_way else 1
        record.sent, record.claimed, record.held_until = now, False, None
        return _answer(job, WantStatus.SEND, record, lane)

    def _is_queued(self, record: JobRecord, now: float) -> bool:
        """Whether a message is under way that may still arrive."""
        if record.held_until is not None or record.claimed or record.sent is None:
            return False
        return now < record.sent + self._tables.timing.resend_s * 2.0 ** (record.sends - 1)

    def unwant(self, lead: Lead, jobs: Sequence[str], *, keep_leased: bool = False) -> None:
        with self._tables.changed:
            self._tables.require_lead(lead)
            for job in jobs:
                if not (keep_leased and job in self._tables.leases):
                    self._tables.waiting(job).discard(lead.run)

    def retry(self, lead: Lead, jobs: Sequence[str]) -> None:
        tables = self._tables
        with tables.changed:
            tables.require_lead(lead)
            for job in jobs:
                tables.forget_trouble(job)


def _answer(
    job: str,
    status: WantStatus,
    record: JobRecord | None,
    lane: Lane = "normal",
    delay_s: float = 0.0,
) -> WantAnswer:
    record = record or JobRecord()
    return WantAnswer(
        job, status, lane=lane, delay_s=delay_s, reason=record.reason, rounds=record.rounds
    )

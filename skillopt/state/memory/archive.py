"""Whole runs put back and taken away, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.domain.run import ENDED
from skillopt.state.memory.tables import RunRecord, Tables
from skillopt.state.ports import Lead, LogEntry, Paid, RemovedRun


class MemoryArchive:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def put_ledger(self, run: str, lines: Mapping[str, str]) -> None:
        with self._tables.changed:
            ledger = self._tables.ledgers.setdefault(run, {})
            for job, line in lines.items():
                ledger.setdefault(job, line)

    def put_run(
        self,
        run: str,
        *,
        meta: Mapping[str, str],
        entries: Sequence[LogEntry],
        status: str,
        open: bool,
        paid: Paid,
    ) -> bool:
        tables = self._tables
        with tables.changed:
            if run in tables.runs:
                return False
            created = entries[0].at if entries else tables.clock()
            tables.runs[run] = RunRecord(
                dict(meta), status, created, number=len(tables.runs), open=open, log=list(entries)
            )
            meter = tables.meter(run)
            meter.calls = dict(paid.calls)
            meter.input_tokens, meter.output_tokens = paid.input_tokens, paid.output_tokens
            meter.micro_usd, meter.estimated_tokens = paid.micro_usd, paid.estimated_tokens
            return True

    def pin_plan(self, lead: Lead, plan: str) -> None:
        with self._tables.changed:
            self._tables.require_lead(lead)
            self._tables.runs[lead.run].meta["plan"] = plan

    def remove(self, run: str) -> RemovedRun | None:
        tables = self._tables
        with tables.changed:
            record, lead = tables.runs.get(run), tables.leads.get(run)
            if record is None or record.status not in ENDED:
                return None
            if lead is not None and lead.owner is not None and lead.until > tables.clock():
                return None
            present = [table for table in tables.of_one_run if run in table]
            for table in present:
                del table[run]
            tables.views.drop(run)
            tables.requests.drop(run)
            return RemovedRun(keys=len(present), bytes=0)

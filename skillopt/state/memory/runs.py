"""Runs: their logs, ledgers and leaders, in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.errors import StaleVersion
from skillopt.state.memory.quotas import require_room
from skillopt.state.memory.tables import LeadRecord, RunRecord, Tables
from skillopt.state.ports import Lead, LogEntry, RunInfo


class MemoryRuns:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def create(
        self, run: str, *, meta: Mapping[str, str], events: Sequence[str], status: str
    ) -> bool:
        tables = self._tables
        with tables.changed:
            if run in tables.runs:
                return False
            require_room(tables, meta.get("owner", ""))
            record = RunRecord(dict(meta), status, tables.clock(), number=len(tables.runs))
            tables.runs[run] = record
            self._append(record, events)
            return True

    def _append(self, record: RunRecord, events: Sequence[str]) -> None:
        at = self._tables.clock()
        for event in events:
            record.log.append(LogEntry(seq=len(record.log) + 1, at=at, event=event))

    def info(self, run: str) -> RunInfo | None:
        with self._tables.changed:
            record = self._tables.runs.get(run)
            return None if record is None else _info(run, record)

    def all(self) -> list[RunInfo]:
        with self._tables.changed:
            oldest_first = self._by_age()
            return [_info(run, record) for run, record in reversed(oldest_first)]

    def open_runs(self) -> list[str]:
        with self._tables.changed:
            return [run for run, record in self._by_age() if record.open]

    def _by_age(self) -> list[tuple[str, RunRecord]]:
        runs = self._tables.runs.items()
        return sorted(runs, key=lambda item: (item[1].created_at, item[1].number))

    def lead(self, run: str, owner: str) -> Lead | None:
        tables = self._tables
        with tables.changed:
            held = tables.leads.setdefault(run, LeadRecord())
            if held.owner != owner:
                if held.owner is not None and held.until > tables.clock():
                    return None
                held.owner = owner
                held.fence += 1
            held.until = tables.clock() + tables.timing.lead_s
            return Lead(run=run, owner=owner, fence=held.fence)

    def leaders(self, runs: Sequence[str]) -> dict[str, str]:
        tables = self._tables
        with tables.changed:
            now = tables.clock()
            held = {run: tables.leads.get(run) for run in runs}
            return {
                run: lead.owner
                for run, lead in held.items()
                if lead is not None and lead.owner is not None and lead.until > now
            }

    def resign(self, lead: Lead) -> None:
        with self._tables.changed:
            held = self._tables.leads.get(lead.run)
            if held is not None and (held.owner, held.fence) == (lead.owner, lead.fence):
                held.owner = None

    def step(
        self, lead: Lead, *, version: int, events: Sequence[str], status: str, open: bool
    ) -> int:
        tables = self._tables
        with tables.changed:
            tables.require_lead(lead)
            record = tables.runs.get(lead.run)
            present = -1 if record is None else len(record.log)
            if record is None or present != version:
                raise StaleVersion(
                    f"run {lead.run!r} is at version {present}, not {version}; read its log again"
                )
            if open and not record.open:
                require_room(tables, record.meta.get("owner", ""))
            self._append(record, events)
            record.status, record.open = status, open
            tables.ring(lead.run)
            return len(record.log)

    def log(self, run: str, *, after: int = 0) -> list[LogEntry]:
        with self._tables.changed:
            record = self._tables.runs.get(run)
            return [] if record is None else record.log[after:]

    def ledger(self, run: str) -> dict[str, str]:
        with self._tables.changed:
            return dict(self._tables.ledgers.get(run, {}))

    def show_view(self, run: str, view: str) -> None:
        with self._tables.changed:
            self._tables.views.put(run, view, self._tables.timing.view_ttl_s)

    def view(self, run: str) -> str | None:
        with self._tables.changed:
            return self._tables.views.get(run)


def _info(run: str, record: RunRecord) -> RunInfo:
    return RunInfo(
        run=run,
        meta=dict(record.meta),
        status=record.status,
        version=len(record.log),
        created_at=record.created_at,
    )

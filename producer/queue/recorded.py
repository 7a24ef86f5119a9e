"""The records of a run's calls: from its folder, or, where no folder is here, from the state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from producer.artifacts import DueRecords, Sources, due_records
from producer.facts import LedgerFacts
from producer.folder.moments import Moments
from producer.folder.stored import StoredCalls
from producer.queue.followed import FollowedRun
from producer.records import CallRecord, OptimizerRecord
from producer.run_folder import RunFolder
from skillopt.domain.events import decode_event
from skillopt.state.ports import State


@dataclass(frozen=True)
class RecordedRun:
    """One run's records and what they come from; for one question, not to be kept."""

    known: FollowedRun
    ports: State
    runs_dir: Path

    @cached_property
    def facts(self) -> LedgerFacts:
        run = self.known.run
        return LedgerFacts(run, self.ports.runs.ledger(run), self.ports.results, self.ports.blobs)

    @cached_property
    def folder(self) -> RunFolder | None:
        """The run's folder, if it lies in a store of ours."""
        path = self.runs_dir / self.known.run
        return RunFolder(path) if (path / "plan.json").is_file() else None

    @cached_property
    def _written(self) -> set[str]:
        return self.folder.record_names() if self.folder else set()

    @cached_property
    def _sources(self) -> Sources:
        log = self.ports.runs.log
        moments = Moments(
            self.known.plan,
            lambda: [decode_event(one.event) for one in log(self.known.run)[: self.known.seq]],
        )
        stored = StoredCalls(self.ports, self.known.run, self.facts)
        return Sources(stored, self.facts, moments)

    def of_file(self, name: str) -> list[CallRecord]:
        """Give the records of one stage, by the name of their file; none before it is over."""
        due = next((one for one in due_records(self.known.state) if one.name == name), None)
        return [] if due is None else self._read(due)

    def all(
        self, *, step: int | None = None, task: str | None = None, call: str | None = None
    ) -> Iterator[CallRecord]:
        """Give records in order of their stages, narrowed to a step, a task, or a call: the
        beginning of its job's id, or an optimizer call's label.
        """
        prefix = "" if step is None else f"step-{step:04d}-"
        for due in due_records(self.known.state):
            if not due.name.startswith(prefix):
                continue
            for record in self._read(due):
                if record.matches(step=step, item=task, job=None) and _is_call(record, call):
                    yield record

    def _read(self, due: DueRecords) -> list[CallRecord]:
        if self.folder is not None and due.name in self._written:
            return list(self.folder.records_of(due.name))
        return list(due.collect(self._sources))


def _is_call(record: CallRecord, call: str | None) -> bool:
    if call is None:
        return True
    labelled = isinstance(record, OptimizerRecord) and record.label == call
    return labelled or record.matches(step=None, item=None, job=call)

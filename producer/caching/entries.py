"""Stored results as people ask for them: what kind each is, who paid, what it took."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import ValidationError

from skillopt.domain.jobs import JobKind, JobSpec, RolloutSpec, decode_spec
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import Receipt
from skillopt.errors import StateCorrupt
from skillopt.state.ports import CacheEntry, State

#: Is told how many results were looked at so far.
Tell = Callable[[int], None]


@dataclass(frozen=True)
class Result:
    """One stored result, decoded as far as this version understands it."""

    entry: CacheEntry
    line: LedgerLine
    receipt: Receipt
    #: None if the job was never described, or by a version with other specs.
    spec: JobSpec | None

    @property
    def job(self) -> str:
        return self.entry.job

    @property
    def kind(self) -> JobKind:
        if self.spec is not None:
            return self.spec.kind
        if self.entry.skill is not None:
            return "rollout"
        judged = self.line.hard is not None or self.line.outcome == "invalid"
        return "judge" if judged else "optimize"

    @property
    def rollout(self) -> RolloutSpec | None:
        return self.spec if isinstance(self.spec, RolloutSpec) else None


def every_result(state: State, tell: Tell) -> Iterator[Result]:
    """Give all results of a state, page by page; one that is not understood is left out."""
    looked_at = 0
    for page in state.cache.pages():
        yield from filter(None, map(decoded, page))
        looked_at += len(page)
        tell(looked_at)


def decoded(entry: CacheEntry) -> Result | None:
    """Decode an entry; None if it was written by a version that this one does not understand."""
    try:
        line = LedgerLine.model_validate_json(entry.line)
        receipt = Receipt.model_validate_json(entry.receipt)
    except ValidationError:
        return None
    return Result(entry, line, receipt, _spec(entry))


def _spec(entry: CacheEntry) -> JobSpec | None:
    if entry.spec is None:
        return None
    try:
        return decode_spec(entry.job, entry.spec)
    except StateCorrupt:
        return None

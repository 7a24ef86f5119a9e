"""What the cache holds, in numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict

from producer.caching.entries import Result, Tell, every_result
from producer.facts import LedgerFacts
from producer.known_runs import KnownRuns
from skillopt.domain.jobs import JobKind
from skillopt.errors import StateCorrupt
from skillopt.state.ports import State

KINDS: tuple[JobKind, ...] = ("rollout", "judge", "optimize")
#: Ledgers are read whole, so only those of the newest runs are.
RUNS_LOOKED_AT = 50


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Held(_Record):
    """How many there are of one kind, and their bytes."""

    count: int = 0
    bytes: int = 0


class SkillCount(_Record):
    """The results obtained with one document, and the run that paid for most of them."""

    skill: str
    results: int
    run: str


class Reuse(_Record):
    """What runs had from the cache, of all replies in their ledgers."""

    runs: int = 0
    replies: int = 0
    reused: int = 0


class Worth(_Record):
    """What the stored results took, and would take again."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro_usd: int = 0


class CacheStats(_Record):
    """Bytes are those of the contents, blobs as they are stored."""

    results: dict[Literal["rollout", "judge", "optimize"], Held]
    blobs: Held
    documents: int
    top: tuple[SkillCount, ...]
    reuse: Reuse
    worth: Worth
    #: Until the first and the last of the results expires if nobody uses it; null if there is none.
    first_expiry_s: float | None
    last_expiry_s: float | None


def cache_stats(state: State, runs: KnownRuns, *, top: int, tell: Tell) -> CacheStats:
    """Count what is stored, by cursor: others wait for nothing. The result is of no one moment."""
    tally = _Tally()
    for result in every_result(state, tell):
        tally.add(result)
    blobs = Held()
    for page in state.cache.blob_pages():
        blobs = Held(count=blobs.count + len(page), bytes=blobs.bytes + sum(page))
    return CacheStats(
        results={kind: Held(count=tally.counts[kind], bytes=tally.bytes[kind]) for kind in KINDS},
        blobs=blobs,
        documents=len(tally.payers),
        top=_top(tally.payers, top),
        reuse=_reuse(state, list(runs.infos)[:RUNS_LOOKED_AT]),
        worth=Worth(**tally.worth),
        first_expiry_s=tally.first_s,
        last_expiry_s=tally.last_s,
    )


class _Tally:
    """The sums over all results."""

    def __init__(self) -> None:
        self.counts: Counter[JobKind] = Counter()
        self.bytes: Counter[JobKind] = Counter()
        self.worth: Counter[str] = Counter()
        #: By document: who paid for how many of its results.
        self.payers: dict[str, Counter[str]] = {}
        self.first_s: float | None = None
        self.last_s: float | None = None

    def add(self, result: Result) -> None:
        entry, kind = result.entry, result.kind
        self.counts[kind] += 1
        self.bytes[kind] += entry.size
        for field in Worth.model_fields:
            self.worth[field] += getattr(result.receipt, field)
        left_s = entry.expires_in_s
        self.first_s = left_s if self.first_s is None else min(self.first_s, left_s)
        self.last_s = left_s if self.last_s is None else max(self.last_s, left_s)
        if entry.skill is not None:
            self.payers.setdefault(entry.skill, Counter())[result.line.payer] += 1


def _top(payers: dict[str, Counter[str]], top: int) -> tuple[SkillCount, ...]:
    counts = [
        SkillCount(skill=skill, results=by_run.total(), run=by_run.most_common(1)[0][0])
        for skill, by_run in payers.items()
    ]
    return tuple(sorted(counts, key=lambda one: (-one.results, one.skill))[:top])


def _reuse(state: State, runs: Iterable[str]) -> Reuse:
    total = Reuse()
    for run in runs:
        try:
            facts = LedgerFacts(run, state.runs.ledger(run), state.results, state.blobs)
        except StateCorrupt:
            continue  # written by another version: it is not among the runs counted
        total = Reuse(
            runs=total.runs + 1,
            replies=total.replies + facts.replies,
            reused=total.reused + facts.cache_hits,
        )
    return total

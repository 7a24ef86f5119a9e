"""Every result obtained with a document."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from producer.caching.documents import Document
from producer.caching.entries import Result, decoded
from producer.known_runs import KnownRun, KnownRuns
from skillopt.domain.item import Item
from skillopt.domain.outcome import Committed, LedgerLine
from skillopt.domain.results import Receipt
from skillopt.state.ports import State


class CachedAttempt(BaseModel):
    """One attempt with a document. What the runs at hand do not tell is null."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str
    task: str | None
    #: Hash of what the target sees of the task.
    prompt: str | None
    backend: str | None
    fingerprint: str | None
    sample: int | None
    #: The run it belongs to alone (`cache: refresh` or `off`); null if anybody may reuse it.
    private_to: str | None
    outcome: Committed
    hard: float | None
    soft: float | None
    payer: str
    age_s: float | None
    expires_in_s: float
    receipt: Receipt


class DocumentResults(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    skill: str
    #: What the document is: a path, or its part in a run; "" if only its hash was given.
    what: str
    attempts: tuple[CachedAttempt, ...]


def results_of(document: Document, state: State, runs: KnownRuns) -> DocumentResults:
    """List the results of a document, by task and sample; nothing of it is renewed."""
    jobs = state.results.of_skill(document.hash)
    found = [result for entry in state.cache.peek(jobs).values() if (result := decoded(entry))]
    known = runs.among(result.line.payer for result in found)
    scores = _scores(state, found, known)
    now = state.server.now()
    attempts = [_attempt(result, known, scores.get(result.job), now) for result in found]
    attempts.sort(key=lambda one: (one.task or "~", one.prompt or "", one.sample or 0, one.job))
    return DocumentResults(skill=document.hash, what=document.what, attempts=tuple(attempts))


def _attempt(
    result: Result, known: Sequence[KnownRun], score: LedgerLine | None, now: float
) -> CachedAttempt:
    spec, made_at = result.rollout, result.entry.made_at
    item = _item(result, known)
    return CachedAttempt(
        job=result.job,
        task=item.id if item else None,
        prompt=spec.prompt if spec else None,
        backend=_backend(spec.backend, known) if spec else None,
        fingerprint=spec.backend if spec else None,
        sample=spec.sample if spec else None,
        private_to=spec.salt if spec else None,
        outcome=result.line.outcome,
        hard=score.hard if score else None,
        soft=score.soft if score else None,
        payer=result.line.payer,
        age_s=None if made_at is None else max(0.0, now - made_at),
        expires_in_s=result.entry.expires_in_s,
        receipt=result.receipt,
    )


def _scores(
    state: State, results: Sequence[Result], known: Sequence[KnownRun]
) -> dict[str, LedgerLine]:
    """Give the judgement of each reply, as the run that paid for it would judge it."""
    judgements: dict[str, str] = {}
    for result in results:
        run = next((one for one in known if one.run == result.line.payer), None)
        item = run.items.get(result.rollout.prompt) if run and result.rollout else None
        if run and item:
            judgements[result.job] = run.factory.judge(item, result.line.to_judge).id
    entries = state.cache.peek(list(judgements.values()))
    lines = {job: one.line for job, entry in entries.items() if (one := decoded(entry))}
    return {job: lines[judge] for job, judge in judgements.items() if judge in lines}


def _item(result: Result, known: Sequence[KnownRun]) -> Item | None:
    if result.rollout is None:
        return None
    prompt = result.rollout.prompt
    return next((run.items[prompt] for run in known if prompt in run.items), None)


def _backend(fingerprint: str, known: Sequence[KnownRun]) -> str | None:
    names = (run.backends.get(fingerprint) for run in known)
    return next((name for name in names if name is not None), None)

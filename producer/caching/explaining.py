"""Why a run's attempt was reused or made: whose result it is, or what the nearest one lacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from producer.caching.attempts import RunAttempt
from producer.caching.differences import NAMES, Difference, differing, in_words
from producer.caching.entries import Result, Tell, decoded, every_result
from producer.known_runs import KnownRun, KnownRuns
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.results import Receipt
from skillopt.state.ports import State

#: Stored results that are named as the nearest of one attempt.
NEAREST = 3

Verdict = Literal["reused", "made", "no result"]


@dataclass(frozen=True)
class Neighbour:
    """A stored result that would have done, but for its differences."""

    job: str
    payer: str
    differences: tuple[Difference, ...]


@dataclass(frozen=True)
class Story:
    """What happened to one attempt, and why."""

    attempt: RunAttempt
    verdict: Verdict
    #: In a few words that many attempts may have in common.
    reason: str
    #: The whole of it, sentence by sentence.
    sentences: tuple[str, ...]
    receipt: Receipt | None = None
    nearest: tuple[Neighbour, ...] = ()


@dataclass(frozen=True)
class _Candidate:
    spec: RolloutSpec
    result: Result


def explain_attempts(
    known: KnownRun, attempts: Sequence[RunAttempt], state: State, runs: KnownRuns, tell: Tell
) -> list[Story]:
    """Tell the story of each attempt; the cache is walked through once if any was made."""
    jobs = [attempt.spec.id for attempt in attempts]
    entries = state.cache.peek(jobs)
    stored = {job: one for job, entry in entries.items() if (one := decoded(entry))}
    made = [attempt for attempt in attempts if attempt.line and attempt.line.payer == known.run]
    candidates: dict[str, list[_Candidate]] = {}
    if any(attempt.spec.salt is None for attempt in made):
        candidates = _by_prompt(state, {attempt.spec.prompt for attempt in made}, tell)
    return [
        _story(known, attempt, stored.get(attempt.spec.id), candidates, runs)
        for attempt in attempts
    ]


def _by_prompt(state: State, prompts: set[str], tell: Tell) -> dict[str, list[_Candidate]]:
    found: dict[str, list[_Candidate]] = {}
    for result in every_result(state, tell):
        spec = result.rollout
        if spec is not None and spec.prompt in prompts:
            found.setdefault(spec.prompt, []).append(_Candidate(spec, result))
    return found


def _story(
    known: KnownRun,
    attempt: RunAttempt,
    stored: Result | None,
    candidates: dict[str, list[_Candidate]],
    runs: KnownRuns,
) -> Story:
    line, receipt = attempt.line, stored.receipt if stored else None
    if line is None:
        text = "The run has no result of this attempt: it was not made, given up or left out."
        return Story(attempt, "no result", "no result", (text,))
    if line.payer != known.run:
        return Story(attempt, "reused", "reused", _reused(line.payer, receipt), receipt)
    if attempt.spec.salt is not None:
        mode = known.plan.settings.cache
        text = f"The run has `cache: {mode}`: it makes every result anew and shares with no run."
        return Story(attempt, "made", f"cache: {mode}", (text,), receipt)
    earlier = _earlier(attempt, stored, candidates.get(attempt.spec.prompt, []), known.run)
    if not earlier:
        text = "No earlier result has this task's text, so the run made it."
        return Story(attempt, "made", "no earlier result has the task's text", (text,), receipt)
    payers = [known.run, *(one.result.line.payer for one in earlier)]
    named = runs.among(payers)
    nearest = tuple(
        Neighbour(one.result.job, one.result.line.payer, in_words(attempt.spec, one.spec, named))
        for one in earlier
    )
    return Story(
        attempt,
        "made",
        "nearest earlier result: "
        + ", ".join(NAMES[difference.field] for difference in nearest[0].differences),
        tuple(_nearest_words(neighbour, known.run) for neighbour in nearest),
        receipt,
        nearest,
    )


def _earlier(
    attempt: RunAttempt, stored: Result | None, candidates: Sequence[_Candidate], run: str
) -> list[_Candidate]:
    """Give the nearest results that were there before; of equally near ones, other runs' first.

    If it is not known when the attempt was made, results of this run itself do not count.
    """
    own_at = stored.entry.made_at if stored else None

    def was_there(one: _Candidate) -> bool:
        if one.spec == attempt.spec:
            return False
        at = one.result.entry.made_at
        if own_at is None or at is None:
            return one.result.line.payer != run
        return at < own_at

    def distance(one: _Candidate) -> tuple[int, bool, bool, str]:
        fields = differing(attempt.spec, one.spec)
        return len(fields), "salt" in fields, one.result.line.payer == run, one.result.job

    there = sorted(filter(was_there, candidates), key=distance)
    if not there:
        return []
    fewest = len(differing(attempt.spec, there[0].spec))
    return [one for one in there if len(differing(attempt.spec, one.spec)) == fewest][:NEAREST]


def _reused(payer: str, receipt: Receipt | None) -> tuple[str, ...]:
    first = f"Reused: run {payer or 'unknown'} had paid for it."
    if receipt is None:
        return first, "Its result is not stored any more; the run's folder has the record."
    return first, (
        f"It took {receipt.calls} call(s), {receipt.input_tokens:,} input and "
        f"{receipt.output_tokens:,} output tokens, on worker {receipt.worker or 'unknown'}."
    )


def _nearest_words(neighbour: Neighbour, run: str) -> str:
    whose = "this run itself" if neighbour.payer == run else f"run {neighbour.payer}"
    words = "; ".join(difference.words for difference in neighbour.differences)
    return f"The nearest earlier result, by {whose}, could not serve: {words}."

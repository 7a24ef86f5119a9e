"""The summary of a run: scores, calls and money, for people and programs alike.

A value that was not measured is null, never 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from producer.exit_codes import ExitCode, exit_code_at_rest
from producer.run_warnings import warnings_of
from producer.scores import NoiseFloor, Score, noise_floor, score_of
from producer.spent import Calls, Tokens, calls_of, tokens_of
from skillopt.domain.events import Gated, Source
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import SplitName
from skillopt.domain.plan import Mode
from skillopt.domain.run import EpochEnd, RunState, Status, StepState
from skillopt.domain.steering_events import Paused
from skillopt.domain.usage import MICRO
from skillopt.state.ports import Spend


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class InitialDocument(_Block):
    """`hash` names the documents together; with a memory document, each has its own besides."""

    hash: str
    skill_hash: str
    memory_hash: str | None
    val: Score | None
    test: Score | None


class Document(InitialDocument):
    """`step` is the step that brought the document, or at whose end a slow update did; 0 for the
    initial one.
    """

    step: int
    source: Source | None


class EpochEnds(_Block):
    """Slow updates by what came of them, and how often the meta skill was learnt.

    `forced`: became current whatever the verdict, which is counted besides.
    """

    accepted: int
    rejected: int
    underpowered: int
    skipped: int
    forced: int
    meta_learned: int


class EvaluatedSplit(_Block):
    split: SplitName
    score: Score


class Summary(_Block):
    """What `run --json` prints and summary.json holds."""

    run: str
    name: str
    mode: Mode
    state: Status
    #: Why the run finished or paused, in words; "" while it runs.
    reason: str
    spec_hash: str
    skill: str
    initial: InitialDocument
    best: Document
    final: Document
    #: An evaluation run's one measurement; null for a training run.
    evaluated: EvaluatedSplit | None
    #: How far apart an A/A run's measurements of one document are; null for other runs.
    noise: NoiseFloor | None
    #: Ended steps: accepted + rejected + underpowered + skipped.
    steps: int
    accepted: int
    rejected: int
    #: Looked better, but on too few tasks to be accepted.
    underpowered: int
    skipped: int
    #: Became current whatever the verdict, which is counted besides.
    forced: int
    epoch_ends: EpochEnds
    calls: Calls
    #: Calls made by the present command; null in summary.json.
    new_calls: int | None
    #: Calls that were sent and never answered, or whose worker vanished: budgets count them at
    #: their estimate, `tokens` and `cost_usd` do not.
    unconfirmed_calls: int
    unconfirmed_tokens: int = 0
    #: Null if a backend in use has no price.
    unconfirmed_usd: float | None = None
    cache_hits: int
    executions: int
    repaid_calls: int
    tokens: Tokens
    #: Null if a backend in use has no price.
    cost_usd: float | None
    seconds: float
    run_dir: str
    warnings: tuple[str, ...]


def summarize(  # noqa: PLR0913 - keyword-only; each is one figure of the summary
    state: RunState,
    *,
    skill: str,
    spend: Spend,
    cache_hits: int,
    seconds: float,
    run_dir: str,
    priced: bool,
    new_calls: int | None = None,
    warnings: Sequence[str] = (),
) -> Summary:
    """Summarize a run.

    Args:
        state: the run.
        skill: the document as the user named it.
        spend: what the run has spent so far, over all its commands.
        cache_hits: results it had without paying for them.
        seconds: how long it has run.
        run_dir: its folder.
        priced: whether every backend in use has a price.
        new_calls: calls of the present command, where that is known.
        warnings: what the caller knows besides what the log says.
    """
    counts = _counts(state.steps)
    adopted = [gated for gated in state.gates if gated.adopted]
    best = [gated for gated in adopted if gated.new_best]
    return Summary(
        run=state.run,
        name=state.plan.name,
        mode=state.plan.mode,
        state=state.status,
        reason=reason_of(state),
        spec_hash=state.plan.identity,
        skill=skill,
        initial=_initial(state),
        best=_document(state, state.best, best[-1] if best else None),
        final=_document(state, state.current, adopted[-1] if adopted else None),
        evaluated=_evaluated(state),
        noise=noise_floor(state),
        steps=counts.total() - counts["forced"],
        accepted=counts["accept"],
        rejected=counts["reject"],
        underpowered=counts["underpowered"],
        skipped=counts["skipped"],
        forced=counts["forced"],
        epoch_ends=_epoch_ends(state),
        calls=calls_of(spend),
        new_calls=new_calls,
        **_unconfirmed(spend, priced=priced),
        cache_hits=cache_hits,
        executions=spend.executions,
        repaid_calls=spend.repaid_calls,
        tokens=tokens_of(spend),
        cost_usd=spend.micro_usd / MICRO if priced else None,
        seconds=seconds,
        run_dir=run_dir,
        warnings=(*warnings, *warnings_of(state)),
    )


def _unconfirmed(spend: Spend, *, priced: bool) -> dict[str, Any]:
    return {
        "unconfirmed_calls": spend.unconfirmed.calls,
        "unconfirmed_tokens": spend.unconfirmed.tokens,
        "unconfirmed_usd": spend.unconfirmed.micro_usd / MICRO if priced else None,
    }


def reason_of(state: RunState) -> str:
    """Say in words why a run finished, paused or was cancelled; "" while it runs."""
    if state.finished:
        return {
            "completed": _told(len(state.steps), "the only step is done", "all {} steps are done"),
            "saturated": "the validation score is at its maximum: nothing is left to learn",
            "patience": _told(
                state.stop.patience or 0,
                "the last step brought no improvement",
                "the last {} steps brought no improvement",
            ),
            "target_score": (
                f"the validation score reached target_score {state.stop.target_score}"
            ),
            "evaluated": (
                f"the document was measured {len(state.arms)} times on val"
                if state.plan.mode == "aa"
                else f"the document was measured on {state.plan.eval_split or 'test'}"
            ),
        }[state.finished.reason]
    if state.cancelled:
        return state.cancelled.detail or "it was asked to end"
    return pause_reason(state.paused) if state.paused else ""


def _told(count: int, one: str, many: str) -> str:
    return one if count == 1 else many.format(count)


def pause_reason(paused: Paused) -> str:
    words = {
        "budget": "the budget is used up",
        "infrastructure": "calls cannot be made",
        "coverage": "too many results are missing",
        "requested": "it was asked to pause",
    }[paused.why]
    return f"{words}: {paused.detail}" if paused.detail else words


def exit_code(state: RunState) -> ExitCode:
    """Give the exit code of a command that drove this run; a run left running, and one that was
    asked to pause or end, was interrupted.
    """
    return exit_code_at_rest(state.status, state.paused.why if state.paused else None)


def _counts(parts: Iterable[StepState | EpochEnd]) -> Counter[str]:
    """Count what has ended by its verdict; forced ones once more."""
    counts: Counter[str] = Counter()
    for part in parts:
        gated = part.gated
        if part.skipped:
            counts["skipped"] += 1
        elif gated and gated.verdict != "indecisive":
            counts[gated.verdict] += 1
            counts["forced"] += gated.adopted and gated.verdict != "accept"
    return counts


def _epoch_ends(state: RunState) -> EpochEnds:
    ends = state.epoch_ends.values()
    counts = _counts(ends)
    return EpochEnds(
        accepted=counts["accept"],
        rejected=counts["reject"],
        underpowered=counts["underpowered"],
        skipped=counts["skipped"],
        forced=counts["forced"],
        meta_learned=sum(end.meta is not None and end.meta.status != "kept" for end in ends),
    )


def _initial(state: RunState) -> InitialDocument:
    return InitialDocument(**_measurements(state, state.plan.initial_key))


def _document(state: RunState, key: str, brought_by: Gated | None) -> Document:
    return Document(
        **_measurements(state, key),
        step=brought_by.step if brought_by else 0,
        source=brought_by.source if brought_by else None,
    )


def _measurements(state: RunState, key: str) -> dict[str, Any]:
    documents = state.texts[key]
    return {
        "hash": key,
        "skill_hash": state.plan.skill_hash(documents.skill),
        "memory_hash": None if documents.memory is None else text_hash(documents.memory),
        "val": _measured(state, key, "val"),
        "test": _measured(state, key, "test"),
    }


def _measured(state: RunState, key: str, split: SplitName) -> Score | None:
    measurement = state.measured.get((key, split))
    return score_of(measurement, state.plan) if measurement else None


def _evaluated(state: RunState) -> EvaluatedSplit | None:
    if state.plan.mode != "eval":
        return None
    split = state.plan.eval_split or "test"
    score = _measured(state, state.plan.initial_key, split)
    return EvaluatedSplit(split=split, score=score) if score else None

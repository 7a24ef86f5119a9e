"""The summary of a run: scores, calls and money, for people and programs alike.

A value that was not measured is null, never 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import BaseModel, ConfigDict

from skillopt.domain.events import Measurement
from skillopt.domain.item import SplitName
from skillopt.domain.plan import Mode
from skillopt.domain.run import RunState, Status
from skillopt.domain.usage import MICRO, ROLES
from skillopt.state.ports import Spend
from skillopt.stats.intervals import wilson

EXIT_FINISHED = 0
EXIT_BUDGET = 3
EXIT_FAILED = 4
EXIT_INTERRUPTED = 130

#: Tasks named in a warning.
NAMED_TASKS = 5


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Score(_Block):
    """A document on a split: means over scored items, and the 95 % interval of `hard`."""

    hard: float | None
    soft: float | None
    n: int
    coverage: float
    interval: tuple[float, float] | None


class InitialDocument(_Block):
    hash: str
    val: Score | None
    test: Score | None


class Document(_Block):
    """`step` is the step that brought the document, 0 for the initial one."""

    hash: str
    step: int
    val: Score | None
    test: Score | None


class Calls(_Block):
    target: int
    optimizer: int
    judge: int
    total: int


class Tokens(_Block):
    input: int
    output: int


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
    #: Ended steps: accepted + rejected + skipped.
    steps: int
    accepted: int
    rejected: int
    skipped: int
    calls: Calls
    #: Calls made by the present command; null in summary.json.
    new_calls: int | None
    #: Calls whose worker vanished: counted at their estimate.
    unconfirmed_calls: int
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
    accepted = [s.gated for s in state.steps if s.gated and s.gated.verdict == "accept"]
    rejected = sum(bool(s.gated and s.gated.verdict == "reject") for s in state.steps)
    skipped = sum(s.skipped is not None for s in state.steps)
    final_step = accepted[-1].step if accepted else 0
    return Summary(
        run=state.run,
        name=state.plan.name,
        mode=state.plan.mode,
        state=state.status,
        reason=reason_of(state),
        spec_hash=state.plan.identity,
        skill=skill,
        initial=_initial(state),
        best=_document(state, state.best, state.best_step),
        final=_document(state, state.current, final_step),
        evaluated=_evaluated(state),
        steps=len(accepted) + rejected + skipped,
        accepted=len(accepted),
        rejected=rejected,
        skipped=skipped,
        calls=_calls(spend),
        new_calls=new_calls,
        unconfirmed_calls=spend.unconfirmed.calls,
        cache_hits=cache_hits,
        executions=spend.executions,
        repaid_calls=spend.repaid_calls,
        tokens=Tokens(input=spend.input_tokens, output=spend.output_tokens),
        cost_usd=spend.micro_usd / MICRO if priced else None,
        seconds=seconds,
        run_dir=run_dir,
        warnings=(*warnings, *_warnings(state)),
    )


def score_of(measurement: Measurement) -> Score:
    """Turn a measurement into what people read, with its interval."""
    hard = measurement.hard
    interval = wilson(hard * measurement.n, measurement.n) if hard is not None else None
    return Score(
        hard=hard,
        soft=measurement.soft,
        n=measurement.n,
        coverage=measurement.coverage,
        interval=(interval.low, interval.high) if interval else None,
    )


def reason_of(state: RunState) -> str:
    """Say in words why a run finished or paused; "" while it runs."""
    settings = state.plan.settings
    if state.finished:
        return {
            "completed": f"all {len(state.steps)} steps are done",
            "saturated": "the validation score is at its maximum: nothing is left to learn",
            "patience": f"the last {settings.stop.patience} steps brought no improvement",
            "target_score": (
                f"the validation score reached target_score {settings.stop.target_score}"
            ),
            "evaluated": f"the document was measured on {state.plan.eval_split or 'test'}",
        }[state.finished.reason]
    if state.paused:
        words = {
            "budget": "the budget is used up",
            "infrastructure": "calls cannot be made",
            "coverage": "too many results are missing",
            "requested": "it was asked to pause",
        }[state.paused.why]
        return f"{words}: {state.paused.detail}" if state.paused.detail else words
    return ""


def exit_code(state: RunState) -> int:
    """Give the exit code of a command that drove this run; a run left running was interrupted."""
    if state.finished:
        return EXIT_FINISHED
    if state.paused:
        return EXIT_BUDGET if state.paused.why == "budget" else EXIT_FAILED
    return EXIT_INTERRUPTED


def _calls(spend: Spend) -> Calls:
    by_role = {role: spend.calls.get(role, 0) for role in ROLES}
    return Calls(**by_role, total=sum(by_role.values()))


def _initial(state: RunState) -> InitialDocument:
    skill = state.plan.initial_key
    val, test = _measured(state, skill, "val"), _measured(state, skill, "test")
    return InitialDocument(hash=skill, val=val, test=test)


def _document(state: RunState, skill: str, step: int) -> Document:
    val, test = _measured(state, skill, "val"), _measured(state, skill, "test")
    return Document(hash=skill, step=step, val=val, test=test)


def _measured(state: RunState, skill: str, split: SplitName) -> Score | None:
    measurement = state.measured.get((skill, split))
    return score_of(measurement) if measurement else None


def _evaluated(state: RunState) -> EvaluatedSplit | None:
    if state.plan.mode != "eval":
        return None
    split = state.plan.eval_split or "test"
    score = _measured(state, state.plan.initial_key, split)
    return EvaluatedSplit(split=split, score=score) if score else None


def _warnings(state: RunState) -> Iterator[str]:
    """Name what a reader of the scores must know: tasks left out, analyses lost."""
    shown = dict.fromkeys([state.plan.initial_key, state.best, state.current])
    said: dict[str, None] = {}
    for (skill, split), measurement in state.measured.items():
        if skill in shown:
            said.update(dict.fromkeys(_left_out(split, measurement)))
    yield from said
    groups = [g for s in state.steps if s.reflected for g in s.reflected.groups]
    lost = sum(group.status == "dropped" for group in groups)
    if lost:
        yield f"{lost} of {len(groups)} analyses gave no usable reply and were dropped"


def _left_out(split: SplitName, measurement: Measurement) -> Iterator[str]:
    why = {"invalid": "cannot be scored and are left out", "missing": "have no result"}
    for status, words in why.items():
        ids = [item for item, score in measurement.items.items() if score.status == status]
        if ids:
            named = ", ".join(ids[:NAMED_TASKS])
            more = f" and {len(ids) - NAMED_TASKS} more" if len(ids) > NAMED_TASKS else ""
            yield f"{len(ids)} of {len(measurement.items)} {split} tasks {words}: {named}{more}"

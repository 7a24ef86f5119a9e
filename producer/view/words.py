"""Events, stages and states of a run in words: one sentence each."""

from __future__ import annotations

import re

from producer.summary import reason_of
from producer.view import numbers
from producer.view.printable import one_line
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Event,
    Finished,
    Gated,
    GaveUp,
    LeftOut,
    Measured,
    Measurement,
    Merged,
    MetaLearned,
    Noted,
    Paused,
    Proposed,
    Reflected,
    Resumed,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState, StepState
from skillopt.domain.spec import Budget

VERDICTS = {"accept": "accepted", "reject": "rejected", "indecisive": "undecided"}
UNDER_WAY = "under way"

_SKIPS = {
    "no_edits": "no edit was proposed",
    "no_change": "the edits leave the document as it is",
    "already_rejected": "this text was tried before",
    "too_long": "the candidate is too long",
}
_PAUSES = {
    "budget": "the budget is used up",
    "infrastructure": "calls keep failing",
    "coverage": "too many tasks have no score",
    "requested": "somebody asked for it",
}
_ENDS = {
    "completed": "every step is done",
    "saturated": "the validation score is at its maximum",
    "patience": "no step was accepted for as long as stop.patience allows",
    "target_score": "stop.target_score is reached",
    "evaluated": "the document is measured",
}
_STAGES = {
    "baseline": "measuring the initial document on val",
    "initial test": "measuring the initial document on test",
    "final test": "measuring the documents on test",
    "eval train": "measuring the document on train",
    "eval val": "measuring the document on val",
    "eval test": "measuring the document on test",
    "paused": "paused",
    "finished": "finished",
}
_STEP_STAGES = {
    "rollout": "trying the train tasks",
    "reflect": "analysing what went right and wrong",
    "merge": "merging the proposed edits",
    "rank": "choosing the best edits",
    "gate": "measuring the candidate on val",
}
_STEP = re.compile(r"^step (\d+) / (\w+)$")


def event_words(event: Event) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per event
    """Say in one line what an event means."""
    match event:
        case RunCreated():
            return f"run {one_line(event.run)} created, document {short(event.skill)}"
        case Measured():
            return measurement_words(event.measurement)
        case StepStarted():
            edits = numbers.plural(event.edit_budget or 0, "edit")
            return (
                f"step {event.step}: epoch {event.epoch}, "
                f"{numbers.plural(len(event.items), 'task')}, at most {edits}"
            )
        case Reflected():
            return _reflected(event)
        case Merged():
            return f"step {event.step}: {numbers.plural(len(event.edits), 'edit')} after merging"
        case Selected():
            return _selected(event)
        case Proposed():
            applied = sum(report.applied for report in event.reports)
            edits = numbers.plural(len(event.reports), "edit")
            return (
                f"step {event.step}: candidate {short(event.skill)}, {applied} of {edits} applied"
            )
        case Skipped():
            return f"step {event.step}: skipped: {skip_words(event)}"
        case Gated():
            return f"step {event.step}: {gate_words(event)}"
        case BudgetDecided() | Noted() | Compared() | MetaLearned() | LeftOut():
            return event.type
        case GaveUp():
            return _gave_up(event)
        case Paused():
            return f"paused: {pause_words(event)}"
        case Resumed():
            return f"resumed, budget: {budget_words(event.budget)}"
        case Finished():
            document = "document" if event.reason == "evaluated" else "best document"
            return f"finished: {_ENDS[event.reason]}; {document} {short(event.best)}"


def measurement_words(measurement: Measurement) -> str:
    """Say what a document scored, on how many tasks, and what is missing."""
    return (
        f"document {short(measurement.skill)} on {measurement.split}: "
        f"hard {numbers.score(measurement.hard)}, soft {numbers.score(measurement.soft)} "
        f"({_counts(measurement)})"
    )


def _counts(measurement: Measurement) -> str:
    """Say how many tasks were scored, and how many were not and why."""
    invalid = sum(score.status == "invalid" for score in measurement.items.values())
    missing = sum(score.status == "missing" for score in measurement.items.values())
    holes = ((invalid, "invalid"), (missing, "missing"))
    return f"n={measurement.n}" + "".join(f", {count} {word}" for count, word in holes if count)


def skip_words(event: Skipped) -> str:
    detail = one_line(event.detail)
    return f"{_SKIPS[event.reason]} ({detail})" if detail else _SKIPS[event.reason]


def gate_words(event: Gated) -> str:
    """Say the gate's verdict and its reason, without the step."""
    best = ", new best" if event.new_best else ""
    return f"{VERDICTS[event.verdict]}{best}: {one_line(event.reason)}"


def pause_words(event: Paused) -> str:
    detail = one_line(event.detail, 500)
    return f"{_PAUSES[event.why]}: {detail}" if detail else _PAUSES[event.why]


def stage_words(stage: str) -> str:
    """Say what a stage does; a stage this page does not know is shown as it is."""
    if found := _STEP.match(stage):
        step, name = found.groups()
        return f"step {step}: {_STEP_STAGES.get(name, name)}"
    return _STAGES.get(stage) or one_line(stage) or "starting"


def waiting_words(waiting: str) -> str:
    """Say why a run does not move; "" while it does."""
    reason = one_line(waiting)
    return reason if not reason or reason.startswith("waiting") else f"waiting: {reason}"


def status_words(state: RunState) -> str:
    """Say in what state a run is, and why."""
    reason = one_line(reason_of(state), 500)
    if state.status == "running":
        # A log does not tell whether somebody still writes it.
        begun = "" if state.measured else ", nothing measured yet"
        return f"not finished{begun}: it is running, or the same command continues it"
    return f"{state.status}: {reason}" if reason else state.status


def budget_words(budget: Budget) -> str:
    """Say what a run may spend."""
    limits = {
        "calls": budget.max_calls,
        "tokens": budget.max_tokens,
        "minutes": budget.max_minutes,
    }
    words = [f"{value:,} {name}" for name, value in limits.items() if value is not None]
    if budget.max_usd is not None:
        words.append(numbers.dollars(budget.max_usd))
    return "at most " + ", ".join(words) if words else "no limit"


def step_outcome(step: StepState) -> str:
    """Give what came of a step as one word, or "under way"."""
    if step.skipped:
        return "skipped"
    return VERDICTS[step.gated.verdict] if step.gated else UNDER_WAY


def step_words(step: StepState) -> str:
    """Say what came of a step and why, without its number."""
    if step.skipped:
        return f"skipped: {skip_words(step.skipped)}"
    return gate_words(step.gated) if step.gated else UNDER_WAY


def _reflected(event: Reflected) -> str:
    proposed = sum(len(group.edits) for group in event.groups)
    dropped = sum(group.status == "dropped" for group in event.groups)
    lost = f", {numbers.plural(dropped, 'reply', 'replies')} unusable" if dropped else ""
    return (
        f"step {event.step}: train hard {numbers.score(event.batch.hard)} "
        f"({_counts(event.batch)}), "
        f"{numbers.plural(len(event.groups), 'analysis', 'analyses')} "
        f"proposed {numbers.plural(proposed, 'edit')}{lost}"
    )


def _selected(event: Selected) -> str:
    how = {
        "all": "all kept",
        "ranked": "ranked by the optimizer",
        "repaired": "ranked by the optimizer, asked twice",
        "fallback": "ranking unusable, taken in order",
        "none": "nothing to choose from",
    }[event.how]
    return f"step {event.step}: {numbers.plural(len(event.edits), 'edit')} selected ({how})"


def _gave_up(event: GaveUp) -> str:
    reasons = "; ".join(sorted({one_line(reason) for reason in event.jobs.values()})[:2])
    return f"{numbers.plural(len(event.jobs), 'job')} cannot be run for now: {reasons}"

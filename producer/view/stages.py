"""What a run is doing, why it waits, and how it stands, in words."""

from __future__ import annotations

import re

from producer.summary import pause_reason, reason_of
from producer.view import numbers
from producer.view.printable import one_line
from skillopt.domain.run import RunState
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import Paused

_STAGES = {
    "baseline": "measuring the initial document on val",
    "initial test": "measuring the initial document on test",
    "final test": "measuring the documents on test",
    "eval train": "measuring the document on train",
    "eval val": "measuring the document on val",
    "eval test": "measuring the document on test",
    "paused": "paused",
    "finished": "finished",
    "cancelled": "cancelled",
}
_PART_STAGES = {
    "rollout": "trying the train tasks",
    "reflect": "analysing what went right and wrong",
    "merge": "merging the proposals",
    "budget": "asking how many changes to apply",
    "rank": "choosing the best proposals",
    "appendix": "collecting reminders for rules that exist",
    "update": "writing the candidate",
    "gate": "measuring the candidate on val",
    "compare": "trying train tasks with this epoch's first and last document",
    "slow update": "asking for lasting guidance",
    "slow update gate": "measuring the document with new guidance on val",
    "meta skill": "asking what editing has taught",
}
_PART = re.compile(r"^(step|epoch) (\d+) / (.+)$")
_ARM = re.compile(r"^arm (\d+)$")


def stage_words(stage: str) -> str:
    """Say what a stage does; a stage this page does not know is shown as it is."""
    if found := _PART.match(stage):
        kind, number, name = found.groups()
        return f"{kind} {number}: {_PART_STAGES.get(name) or one_line(name)}"
    if found := _ARM.match(stage):
        return f"measuring the document on val, time {found.group(1)}"
    return _STAGES.get(stage) or one_line(stage) or "starting"


def waiting_words(waiting: str) -> str:
    """Say why a run does not move; "" while it does."""
    reason = one_line(waiting)
    return reason if not reason or reason.startswith("waiting") else f"waiting: {reason}"


def pause_words(event: Paused) -> str:
    return one_line(pause_reason(event), 500)


def status_words(state: RunState) -> str:
    """Say in what state a run is, and why."""
    reason = one_line(reason_of(state), 500)
    if state.status == "running":
        # A log does not tell whether somebody still writes it.
        begun = "" if state.measured or state.arms else ", nothing measured yet"
        return f"not finished{begun}: it is running, or the same command continues it"
    return f"{state.status}: {reason}" if reason else state.status


def budget_words(budget: Budget) -> str:
    """Say what a run may spend."""
    limits = {
        "calls": budget.max_calls,
        "tokens": budget.max_tokens,
    }
    words = [f"{value:,} {name}" for name, value in limits.items() if value is not None]
    if budget.max_minutes is not None:
        words.append(f"{budget.max_minutes:g} minutes")
    if budget.max_usd is not None:
        words.append(numbers.dollars(budget.max_usd))
    return "at most " + ", ".join(words) if words else "no limit"

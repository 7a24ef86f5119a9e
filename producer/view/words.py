"""Every event of a run in words: one sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from producer.view import numbers
from producer.view.changes import change_count
from producer.view.outcomes import (
    gate_words,
    item_counts,
    measurement_words,
    meta_words,
    skip_words,
)
from producer.view.printable import one_line
from producer.view.stages import budget_words, pause_words
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Event,
    Finished,
    Gated,
    Measured,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    RunCreated,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.fingerprint import short
from skillopt.domain.reports import Pair
from skillopt.domain.steering_events import Cancelled, GaveUp, LeftOut, Paused, Resumed, Retuned

_ENDS = {
    "completed": "every step is done",
    "saturated": "the validation score is at its maximum",
    "patience": "no step was accepted for as long as stop.patience allows",
    "target_score": "stop.target_score is reached",
    "evaluated": "the document is measured",
}
#: In the order in which people look at them.
_CHANGES = {
    "improved": "improved",
    "regressed": "regressed",
    "persistent_fail": "still failing",
    "stable_success": "still passing",
}
_NAMED_TASKS = 5


def event_words(event: Event) -> str:  # noqa: C901, PLR0911, PLR0912 - one arm per event
    """Say in one line what an event means."""
    match event:
        case RunCreated():
            return f"run {one_line(event.run)} created, document {short(event.skill)}"
        case Measured():
            arm = f"time {event.arm + 1}: " if event.arm else ""
            return arm + measurement_words(event.measurement)
        case StepStarted():
            tasks = numbers.plural(len(event.items), "task")
            limit = limit_words(event.edit_budget)
            return f"step {event.step}: epoch {event.epoch}, {tasks}, {limit}"
        case Reflected():
            return f"step {event.step}: {_reflected(event)}"
        case Merged():
            return f"step {event.step}: {merged_words(event)}"
        case BudgetDecided():
            return f"step {event.step}: {budget_decision_words(event)}"
        case Selected():
            return f"step {event.step}: {_selected(event)}"
        case Noted():
            return f"step {event.step}: {noted_words(event)}"
        case Compared():
            return f"epoch {event.epoch}: {compared_words(event)}"
        case MetaLearned():
            return f"epoch {event.epoch}: {meta_words(event)}"
        case Proposed():
            return f"{_origin(event)}: {proposed_words(event)}"
        case Skipped():
            return f"{_origin(event)}: skipped: {skip_words(event)}"
        case Gated():
            return f"{_origin(event)}: {gate_words(event)}"
        case LeftOut():
            return left_out_words(event)
        case GaveUp():
            return _gave_up(event)
        case Paused():
            return f"paused: {pause_words(event)}"
        case Resumed():
            return f"resumed, budget: {budget_words(event.budget)}"
        case Retuned():
            return f"retuned: {retuned_words(event)}"
        case Cancelled():
            return f"cancelled{': ' + one_line(event.detail, 500) if event.detail else ''}"
        case Finished():
            document = "document" if event.reason == "evaluated" else "best document"
            return f"finished: {_ENDS[event.reason]}; {document} {short(event.best)}"


def retuned_words(event: Retuned) -> str:
    """Name what a person changed, as it is from then on."""
    in_force = {**dict(event.budget), **dict(event.stop)}
    in_force |= {"priority": event.priority, "window": event.window}
    return ", ".join(
        f"{name} {'none' if in_force.get(name) is None else in_force[name]}"
        for name in event.changed
    )


def limit_words(edit_budget: int | None) -> str:
    """Say how many changes a step may apply."""
    if edit_budget is None:
        return "no limit of changes"
    return f"at most {numbers.plural(edit_budget, 'change')}"


def merged_words(event: Merged) -> str:
    lost = sum(merge.status == "fallback" for merge in event.merges)
    words = [f"{change_count(event.edits)} after merging"]
    if lost:
        words.append(f"{numbers.plural(lost, 'merge')} unusable, all proposals kept")
    return ", ".join([*words, *_blocked(len(event.blocked))])


def budget_decision_words(event: BudgetDecided) -> str:
    """Say how many changes the optimizer chose to apply, and why."""
    changes = numbers.plural(event.edit_budget, "change")
    if event.status == "fallback":
        problem = f" ({one_line(event.problem)})" if event.problem else ""
        return f"no usable answer on how many changes to apply{problem}: {changes} as scheduled"
    sure = "" if event.confidence is None else f", confidence {event.confidence:.2f}"
    why = f": {one_line(event.reasoning)}" if event.reasoning else ""
    return f"the optimizer chose to apply {changes}{sure}{why}"


def noted_words(event: Noted) -> str:
    how = {
        "kept": "",
        "consolidated": ", condensed",
        "fallback": ", condensing brought nothing shorter",
    }[event.status]
    added = numbers.plural(len(event.added), "new reminder")
    return f"{added}, {len(event.notes)} in the appendix{how}"


def compared_words(event: Compared) -> str:
    """Say what changed between an epoch's first and last document."""
    tasks = numbers.plural(len(event.sampled), "task")
    pairs = pair_counts(event.pairs) or "no pair to learn from"
    beside = f"beside {short(event.previous)}"
    if event.current == event.previous:
        beside = "as the epoch before left it,"
    return f"document {short(event.current)} {beside} on {tasks} (pairs: {event.policy}): {pairs}"


def pair_counts(pairs: Sequence[Pair]) -> str:
    by_change = pairs_by_change(pairs).items()
    return ", ".join(f"{len(items)} {change}" for change, items in by_change)


def pairs_by_change(pairs: Sequence[Pair]) -> dict[str, list[str]]:
    """Give the tasks by what became of them, under the words for it."""
    found = {
        word: [pair.item for pair in pairs if pair.change == change]
        for change, word in _CHANGES.items()
    }
    return {word: items for word, items in found.items() if items}


def proposed_words(event: Proposed) -> str:
    """Say how a candidate came about, without its step."""
    words = [f"candidate {short(event.skill)}"]
    words.append(
        {
            "edits": _applied(event),
            "rewrite": "rewritten",
            "compressed": "compressed to fit max_skill_tokens",
            "guidance": "with new lasting guidance",
        }[event.how]
    )
    if event.copied_from:
        words.append(f"repeats the text of {_named(event.copied_from)}")
    if event.problem:
        words.append(one_line(event.problem))
    return ", ".join(words)


def left_out_words(event: LeftOut) -> str:
    tasks = [f"{task} ({why})" if why else task for task, why in event.items.items()]
    count = numbers.plural(len(tasks), "task")
    return f"{count} left out of every comparison from now on: {_named(tasks)}"


def _origin(event: Proposed | Skipped | Gated) -> str:
    return f"{'slow update after ' if event.source == 'slow_update' else ''}step {event.step}"


def _applied(event: Proposed) -> str:
    applied = sum(report.applied for report in event.reports)
    return f"{applied} of {numbers.plural(len(event.reports), 'edit')} applied"


def _reflected(event: Reflected) -> str:
    changes = [change for group in event.groups for change in group.edits]
    dropped = sum(group.status == "dropped" for group in event.groups)
    notes = sum(len(group.notes) for group in event.groups)
    words = [
        f"train hard {numbers.score(event.batch.hard)} ({item_counts(event.batch)})",
        f"{numbers.plural(len(event.groups), 'analysis', 'analyses')} "
        f"proposed {change_count(changes)}",
        *([numbers.plural(notes, "reminder")] if notes else []),
        *_blocked(sum(len(group.blocked) for group in event.groups)),
        *([f"{numbers.plural(dropped, 'reply', 'replies')} unusable"] if dropped else []),
    ]
    return ", ".join(words)


def _blocked(count: int) -> list[str]:
    return [f"{count} blocked as copied from tasks"] if count else []


def _selected(event: Selected) -> str:
    how = {
        "all": "all kept",
        "ranked": "ranked by the optimizer",
        "repaired": "ranked by the optimizer, asked twice",
        "fallback": "ranking unusable, taken in order",
        "none": "nothing to choose from",
    }[event.how]
    return f"{change_count(event.edits)} selected ({how})"


def _gave_up(event: GaveUp) -> str:
    reasons = "; ".join(sorted({one_line(reason) for reason in event.jobs.values()})[:2])
    return f"{numbers.plural(len(event.jobs), 'job')} cannot be run for now: {reasons}"


def _named(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _NAMED_TASKS} more" if len(tasks) > _NAMED_TASKS else ""
    return ", ".join(one_line(task) for task in tasks[:_NAMED_TASKS]) + more

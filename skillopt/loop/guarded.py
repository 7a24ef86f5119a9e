"""What the copy guard makes of proposals: `gradient.copy_guard` flags them or takes them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.changes import Change, Rewrite
from skillopt.domain.documents import Documents
from skillopt.domain.edits import Edit
from skillopt.domain.plan import RunPlan
from skillopt.loop.copy_guard import copied_from


@dataclass(frozen=True)
class GuardedChanges:
    kept: tuple[Change, ...] = ()
    blocked: tuple[Change, ...] = ()
    #: What the changes themselves cannot say.
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class GuardedNotes:
    kept: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def guarded_changes(
    plan: RunPlan, documents: Documents, changes: Sequence[Change]
) -> GuardedChanges:
    """Flag or take out changes that repeat a training task's own text.

    A whole document is looked at when it becomes a candidate: only then is known what is new.
    """
    guard = plan.settings.gradient.copy_guard
    kept: list[Change] = []
    blocked: list[Change] = []
    problems: list[str] = []
    for change in changes:
        copied: tuple[str, ...] = ()
        if guard != "off" and not isinstance(change, Rewrite):
            text = change.content if isinstance(change, Edit) else change.instruction
            copied = _copied(plan, documents, text)
        flagged = change
        if copied and isinstance(change, Edit):
            flagged = change.model_copy(update={"copied_from": copied})
        elif copied:
            problems.append(f"a suggestion repeats the text of {_named(copied)}")
        (blocked if copied and guard == "block" else kept).append(flagged)
    return GuardedChanges(tuple(kept), tuple(blocked), tuple(problems))


def guarded_notes(plan: RunPlan, documents: Documents, notes: Sequence[str]) -> GuardedNotes:
    """Say which notes repeat a training task's own text; take them out if that is blocked."""
    guard = plan.settings.gradient.copy_guard
    kept: list[str] = []
    problems: list[str] = []
    for note in notes:
        copied = _copied(plan, documents, note) if guard != "off" else ()
        if copied:
            fate = " and is left out" if guard == "block" else ""
            problems.append(f"a note repeats the text of {_named(copied)}{fate}")
        if not copied or guard != "block":
            kept.append(note)
    return GuardedNotes(tuple(kept), tuple(problems))


def _copied(plan: RunPlan, documents: Documents, text: str) -> tuple[str, ...]:
    return copied_from(text, plan, besides=f"{documents.skill}\n{documents.memory or ''}")


def _named(items: tuple[str, ...]) -> str:
    more = f" and {len(items) - 5} more" if len(items) > 5 else ""
    return ", ".join(map(repr, items[:5])) + more

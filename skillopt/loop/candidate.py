"""The one way to a candidate, whatever brought its text: what need not be measured ends here.

A text that equals the current one or one tried before, that repeats a training task, or that is
too long costs no rollout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from skillopt.domain.documents import DocumentName, Documents
from skillopt.domain.edits import EditReport
from skillopt.domain.events import Proposed, Skipped, Source
from skillopt.domain.run import RunState
from skillopt.loop.copy_guard import copied_from
from skillopt.loop.length import excess_of

How = Literal["edits", "rewrite", "compressed", "guidance"]
Reason = Literal["no_change", "already_rejected", "copied", "too_long"]

_DOCUMENTS: tuple[DocumentName, ...] = ("skill", "memory")
#: Tasks that a message names.
_NAMED = 5


def candidate_or_skip(
    state: RunState,
    documents: Documents,
    *,
    step: int,
    source: Source,
    how: How,
    reports: Sequence[EditReport] = (),
    problem: str = "",
) -> Proposed | Skipped:
    """Give the candidate that would follow the current documents, or why it is not tried.

    `problem` is what went wrong on the way to the text; it is told in either case.
    """
    copied: tuple[str, ...] = ()
    found = _tried_before(state, documents)
    if found is None:
        copied = copied_by(state, documents)
        found = _not_allowed(state, documents, copied)
    if found is not None:
        reason, why = found
        return Skipped(
            step=step,
            source=source,
            reason=reason,
            detail="; ".join(filter(None, [why, problem])),
            reports=tuple(reports),
        )
    return Proposed(
        step=step,
        source=source,
        parent=state.current,
        skill=state.plan.key_of(documents),
        text=documents.skill,
        memory=documents.memory,
        reports=tuple(reports),
        how=how,
        copied_from=copied,
        problem=problem,
    )


def copied_by(state: RunState, documents: Documents) -> tuple[str, ...]:
    """Name the training tasks whose own text the new lines of a candidate repeat."""
    plan, parent = state.plan, state.texts[state.current]
    if plan.settings.gradient.copy_guard == "off":
        return ()
    found: dict[str, None] = {}
    for name in _DOCUMENTS:
        before, after = parent.of(name), documents.of(name)
        known = set(before.split("\n"))
        new = "\n".join(line for line in after.split("\n") if line not in known)
        if new.strip():
            found.update(dict.fromkeys(copied_from(new, plan, besides=before)))
    return tuple(found)


def _tried_before(state: RunState, documents: Documents) -> tuple[Reason, str] | None:
    key, shape = state.plan.key_of(documents), _shape(documents)
    if key == state.current or shape == _shape(state.texts[state.current]):
        return "no_change", "the document did not change"
    if key in state.rejected or key in state.texts:
        return "already_rejected", f"document {key[:16]} was tried before"
    for other, tried in state.texts.items():
        if shape == _shape(tried):
            told = f"it differs from document {other[:16]}, tried before, by white space only"
            return "already_rejected", told
    return None


def _not_allowed(
    state: RunState, documents: Documents, copied: tuple[str, ...]
) -> tuple[Reason, str] | None:
    if copied and state.plan.settings.gradient.copy_guard == "block":
        named = ", ".join(map(repr, copied[:_NAMED])) + (" …" if len(copied) > _NAMED else "")
        return "copied", f"its new lines repeat the text of {len(copied)} training tasks: {named}"
    excess = excess_of(state, documents)
    return ("too_long", str(excess)) if excess else None


def _shape(documents: Documents) -> tuple[str, str]:
    """Give the texts without what no reader sees: white space at the ends of lines and texts."""
    skill, memory = (
        "\n".join(line.rstrip() for line in documents.of(name).split("\n")).rstrip("\n")
        for name in _DOCUMENTS
    )
    return skill, memory

"""Which tasks are behind a change: carried along by us, never asked of the model.

A merged change inherits the support of the changes it came from, found by their text; one that
resembles none inherits that of all. A change that came through word for word supports itself
alone. So support never grows beyond the tasks that were seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from skillopt.domain.changes import Change, Suggestion
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import Edit
from skillopt.loop.replies import (
    ProposedChange,
    ProposedEdit,
    ProposedRewrite,
    ProposedSuggestion,
)

Changes = tuple[Change, ...]

#: Share of common words from which a merged change counts as coming from an input.
RESEMBLANCE = 0.4


def distinct(changes: Sequence[Change]) -> Changes:
    """Join changes that say the same; the first one keeps its place and gains the support.

    Only white space may differ: a literal text in capitals is another text.
    """
    kept: dict[tuple[str, ...], Change] = {}
    for change in changes:
        key = _identity(change)
        kept[key] = _joined(kept[key], change) if key in kept else change
    return tuple(kept.values())


def inherited(
    proposals: Sequence[ProposedChange], inputs: Sequence[Change], primary: DocumentName
) -> Changes:
    """Give the changes of a merge reply the provenance of the inputs they came from.

    An edit that does not say which document it is for goes where its sources went, and to the
    primary one if they differ.
    """
    kept = frozenset(map(_plain, proposals))
    words = [_words(_wording(change)) for change in inputs]
    merged: list[Change] = []
    for proposal in proposals:
        sources = _sources(proposal, inputs, words, kept)
        failed = any(source.source_type == "failure" for source in sources)
        documents = {source.document for source in sources if isinstance(source, Edit)}
        merged.append(
            proposal.as_change(
                "failure" if failed else "success",
                union_of_support(sources),
                documents.pop() if len(documents) == 1 else primary,
            )
        )
    return distinct(merged)


def _sources(
    proposal: ProposedChange,
    inputs: Sequence[Change],
    words: Sequence[frozenset[str]],
    kept: frozenset[str],
) -> Changes:
    """Find the inputs that a merged change came from; all of them if it resembles none.

    Those among the texts that were `kept` are behind their own text only. A merged rewrite is one
    document made of all of them.
    """
    if isinstance(proposal, ProposedRewrite):
        return tuple(inputs)
    text, own = _plain(proposal), _words(_wording(proposal))
    found = tuple(
        change
        for change, others in zip(inputs, words, strict=True)
        if _plain(change) == text
        or (
            _plain(change) not in kept
            and (_same_target(proposal, change) or _resemblance(own, others) >= RESEMBLANCE)
        )
    )
    return found or tuple(inputs)


def union_of_support(changes: Sequence[Change]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for change in changes for task in change.support))


def _identity(change: Change) -> tuple[str, ...]:
    if isinstance(change, Edit):
        text = " ".join(change.content.split())
        return (change.document, change.op, change.target.strip(), text)
    if isinstance(change, Suggestion):
        return (change.type, " ".join(change.instruction.split()))
    return (" ".join(change.new_skill.split()),)


def _joined(first: Change, other: Change) -> Change:
    known: dict[str, Any] = {"support": union_of_support((first, other))}
    if isinstance(first, Edit) and isinstance(other, Edit):
        known["copied_from"] = tuple(dict.fromkeys((*first.copied_from, *other.copied_from)))
    return first.model_copy(update=known)


def _same_target(proposal: ProposedChange, change: Change) -> bool:
    return (
        isinstance(proposal, ProposedEdit)
        and isinstance(change, Edit)
        and bool(proposal.target)
        and proposal.document in (None, change.document)
        and (proposal.op, proposal.target) == (change.op, change.target)
    )


def _wording(change: Change | ProposedChange) -> str:
    if isinstance(change, Edit | ProposedEdit):
        return change.content or change.target
    if isinstance(change, Suggestion | ProposedSuggestion):
        return f"{change.title} {change.instruction}"
    return change.new_skill


def _plain(change: Change | ProposedChange) -> str:
    return " ".join(_wording(change).split())


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def _resemblance(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 1.0

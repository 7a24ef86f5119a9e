"""Which step brought each line of a document, on what evidence, and what that step measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from pydantic import BaseModel, ConfigDict

from producer.timeline import in_order
from skillopt.domain.changes import Change, Rewrite, Suggestion
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import Edit
from skillopt.domain.events import Gated, Proposed, Source
from skillopt.domain.run import RunState, StepState


class BlamedLine(BaseModel):
    """One line and where it comes from; step 0 is the document as it was given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: DocumentName
    number: int
    text: str
    step: int
    source: Source | None
    #: The training tasks behind the change that brought the line.
    tasks: tuple[str, ...]
    #: The score on val after the step less that before it, over the same tasks. It belongs to the
    #: step as a whole: its changes were measured together.
    gain: float | None
    verdict: str | None


@dataclass(frozen=True)
class Origin:
    """A change of the documents that was proposed, and what it rested on."""

    proposed: Proposed
    #: None if the run has not decided on it.
    gated: Gated | None
    changes: tuple[Change, ...]
    #: The tasks of an epoch's comparison, behind a slow update.
    compared: tuple[str, ...] = ()

    @property
    def gain(self) -> float | None:
        if self.gated is None:
            return None
        candidate, current = self.gated.candidate_score, self.gated.current_score
        return None if candidate is None or current is None else candidate - current


def lineage(state: RunState, key: str) -> list[Origin]:
    """Give the changes that lead from the initial documents to `key`, oldest first.

    The last one may be a candidate that was not kept; those before it were, or it could not have
    come of them.
    """
    found: list[Origin] = []
    for origin in reversed(_origins(state)):
        if origin.proposed.skill == key:
            found.append(origin)
            key = origin.proposed.parent
    return found[::-1]


def blame(state: RunState, key: str) -> list[BlamedLine]:
    """Trace every line of the documents that `key` names."""
    names: list[DocumentName] = ["skill"]
    if state.texts[key].memory is not None:
        names.append("memory")
    return [line for name in names for line in _blame_document(state, key, name)]


def _origins(state: RunState) -> list[Origin]:
    """Give every candidate there was, in order."""
    found = []
    for part in in_order(state):
        if part.proposed is None:
            continue
        if isinstance(part, StepState):
            changes = part.selected.edits if part.selected else ()
            found.append(Origin(part.proposed, part.gated, changes))
        else:
            pairs = tuple(pair.item for pair in part.compared.pairs)
            found.append(Origin(part.proposed, part.gated, (), pairs))
    return found


def _blame_document(state: RunState, key: str, name: DocumentName) -> list[BlamedLine]:
    lines = _lines(state.plan.initial.of(name))
    owners: list[Origin | None] = [None] * len(lines)
    for origin in lineage(state, key):
        after = _lines(origin.proposed.documents.of(name))
        owners = _carried(lines, after, owners, origin)
        lines = after
    return [
        _blamed(name, number, text, owner)
        for number, (text, owner) in enumerate(zip(lines, owners, strict=True), start=1)
    ]


def _lines(text: str) -> list[str]:
    """Split where editors do: a page break or a U+2028 within a line would shift the numbers."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def _carried(
    before: Sequence[str], after: Sequence[str], owners: Sequence[Origin | None], new: Origin
) -> list[Origin | None]:
    """Let unchanged lines keep their owner; the others belong to the new change."""
    carried: list[Origin | None] = [new] * len(after)
    matcher = SequenceMatcher(a=before, b=after, autojunk=False)
    for start, to, size in matcher.get_matching_blocks():
        carried[to : to + size] = owners[start : start + size]
    return carried


def _blamed(name: DocumentName, number: int, text: str, owner: Origin | None) -> BlamedLine:
    if owner is None:
        return BlamedLine(
            document=name, number=number, text=text, step=0,
            source=None, tasks=(), gain=None, verdict=None,
        )  # fmt: skip
    return BlamedLine(
        document=name,
        number=number,
        text=text,
        step=owner.proposed.step,
        source=owner.proposed.source,
        tasks=_evidence(text, owner),
        gain=owner.gain,
        verdict=owner.gated.verdict if owner.gated else None,
    )


def _evidence(line: str, owner: Origin) -> tuple[str, ...]:
    """Give the tasks behind the changes whose text has the line; of all, if none has it."""
    if owner.proposed.source == "slow_update":
        return owner.compared
    wanted = line.strip()
    having = [change for change in owner.changes if wanted and wanted in _text(change)]
    return tuple(
        dict.fromkeys(task for change in having or owner.changes for task in change.support)
    )


def _text(change: Change) -> str:
    match change:
        case Edit():
            return change.content
        case Suggestion():
            return change.instruction
        case Rewrite():
            return change.new_skill

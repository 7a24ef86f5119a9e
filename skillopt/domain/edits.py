"""Edits of the documents, applied one after the other with an exact report of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.documents import DocumentName, Documents
from skillopt.domain.draft import OPS, Draft, EditStatus
from skillopt.domain.skill import SkillDocument

__all__ = [
    "OPS",
    "Applied",
    "AppliedToDocuments",
    "Edit",
    "EditReport",
    "EditStatus",
    "SourceType",
    "apply_edits",
    "apply_to_documents",
]

SourceType = Literal["failure", "success"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Edit(_Record):
    """One change of the body, the sort of attempts it was learnt from, and the tasks behind it."""

    op: str
    target: str = ""
    content: str = ""
    document: DocumentName = "skill"
    source_type: SourceType = "failure"
    support: tuple[str, ...] = ()
    #: Training tasks whose own text the content repeats.
    copied_from: tuple[str, ...] = ()


class EditReport(_Record):
    """What became of the edit with this index."""

    index: int
    op: str
    status: EditStatus

    @property
    def applied(self) -> bool:
        return self.status.startswith("applied_")


@dataclass(frozen=True)
class Applied:
    document: SkillDocument
    reports: tuple[EditReport, ...]


def apply_edits(document: SkillDocument, edits: Sequence[Edit]) -> Applied:
    """Apply edits in order; one that cannot be applied is skipped and reported.

    After at least one applied edit the text ends with one newline; without any it is unchanged.
    """
    draft = Draft.of(document)
    reports = []
    for index, edit in enumerate(edits):
        outcome = draft.edited(edit.op, edit.target, edit.content)
        if isinstance(outcome, Draft):
            draft, status = outcome, EditStatus(f"applied_{edit.op}")
        else:
            status = outcome
        reports.append(EditReport(index=index, op=edit.op, status=status))
    changed = any(report.applied for report in reports)
    return Applied(draft.finished() if changed else document, tuple(reports))


@dataclass(frozen=True)
class AppliedToDocuments:
    documents: Documents
    reports: tuple[EditReport, ...]


def apply_to_documents(
    documents: Documents, edits: Sequence[Edit], evolving: Sequence[DocumentName]
) -> AppliedToDocuments:
    """Apply each edit to the document it names; reports are in the order of the edits.

    An edit of a document that does not evolve is skipped. A document without an applied edit
    stays as it is.
    """
    reports: dict[int, EditReport] = {}
    for name in dict.fromkeys(edit.document for edit in edits):
        numbers = [number for number, edit in enumerate(edits) if edit.document == name]
        if name not in evolving:
            for number in numbers:
                status = EditStatus.NOT_EVOLVING
                reports[number] = EditReport(index=number, op=edits[number].op, status=status)
            continue
        document = SkillDocument.parse(documents.of(name))
        applied = apply_edits(document, [edits[number] for number in numbers])
        for number, report in zip(numbers, applied.reports, strict=True):
            reports[number] = report.model_copy(update={"index": number})
        if applied.document is not document:
            documents = documents.with_text(name, applied.document.render())
    return AppliedToDocuments(documents, tuple(reports[n] for n in range(len(edits))))

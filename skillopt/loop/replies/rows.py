"""Single proposals: edits, suggestions and whole documents, each complete or named as a problem.

Region markers never get into a proposal, except into a whole document, where the parts they
stand for are put back in their places later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.domain.changes import SUGGESTION_TYPES, Priority, Rewrite, Suggestion
from skillopt.domain.documents import DocumentName
from skillopt.domain.edits import OPS, Edit, SourceType
from skillopt.domain.skill import without_markers
from skillopt.domain.spec import UpdateMode
from skillopt.errors import ReplyError
from skillopt.loop.replies.values import (
    MOST_DOCUMENT_CHARS,
    MOST_ROW_CHARS,
    Reply,
    is_unicode,
    lines_of,
    shown,
    sort_of,
    storable,
)

#: More rows than this are no proposal that anybody could judge.
MOST_ROWS = 500
_SUMMARY_ROWS = 20
_LINE_CHARS = 500
_PRIORITIES: dict[str, Priority] = {"high": "high", "medium": "medium", "low": "low"}
_DOCUMENTS: dict[str, DocumentName] = {"skill": "skill", "memory": "memory"}
_DEFAULT_SUGGESTION = "clarify"


class ProposedEdit(Reply):
    """An edit as a model proposes it, complete for its operation."""

    op: str
    target: str = ""
    content: str = ""
    #: None: it does not say which document.
    document: DocumentName | None = None

    def as_change(
        self, source_type: SourceType, support: tuple[str, ...], primary: DocumentName
    ) -> Edit:
        return Edit(
            op=self.op,
            target=self.target,
            content=self.content,
            document=self.document or primary,
            source_type=source_type,
            support=support,
        )


class ProposedSuggestion(Reply):
    type: str
    title: str = ""
    motivation: str = ""
    instruction: str
    priority_hint: Priority = "medium"

    def as_change(
        self, source_type: SourceType, support: tuple[str, ...], primary: DocumentName
    ) -> Suggestion:
        """Suggestions are always about the primary document."""
        del primary
        return Suggestion(**self.model_dump(), source_type=source_type, support=support)


class ProposedRewrite(Reply):
    title: str = ""
    change_summary: tuple[str, ...] = ()
    new_skill: str

    def as_change(
        self, source_type: SourceType, support: tuple[str, ...], primary: DocumentName
    ) -> Rewrite:
        """A rewrite always is one of the primary document."""
        del primary
        return Rewrite(**self.model_dump(), source_type=source_type, support=support)


ProposedChange = ProposedEdit | ProposedSuggestion | ProposedRewrite


@dataclass(frozen=True)
class ReadRows:
    """The rows that can be used, and what is wrong with the others or was mended in them."""

    changes: tuple[ProposedChange, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True)
class _Row:
    """One usable row; the remark completes the sentence "row n …"."""

    change: ProposedChange
    remark: str = ""


class _Unusable(Exception):
    """A row that cannot be used; the message completes the sentence "row n …"."""


def read_rows(listed: object, where: str, mode: UpdateMode) -> ReadRows:
    """Read a list of proposals; raises ReplyError if it is no list."""
    if not isinstance(listed, list):
        raise ReplyError(f"{where!r} must be a list of {_PLURAL[mode]}, not {sort_of(listed)}")
    changes: list[ProposedChange] = []
    problems: list[str] = []
    for place, row in enumerate(listed):
        if len(changes) == MOST_ROWS:
            left_out = len(listed) - place
            problems.append(f"{where} goes on after {MOST_ROWS} rows; {left_out} are left out")
            break
        try:
            read = _read(row, mode)
        except _Unusable as error:
            problems.append(f"{where}[{place}] {error}")
            continue
        changes.append(read.change)
        if read.remark:
            problems.append(f"{where}[{place}] {read.remark}")
    return ReadRows(tuple(changes), tuple(problems))


def row_of(value: object, mode: UpdateMode) -> ProposedChange | None:
    """Give the proposal that a JSON value is, or None if it is none."""
    try:
        return _read(value, mode).change
    except _Unusable:
        return None


def _read(row: object, mode: UpdateMode) -> _Row:
    if not isinstance(row, dict):
        raise _Unusable(f"is {sort_of(row)}, not an object")
    return _READERS[mode](row)


def _edit(row: Mapping[str, Any]) -> _Row:
    op = _word(row.get("op"))
    if op not in OPS:
        raise _Unusable(f"has the op {shown(row.get('op'))}; use one of {', '.join(OPS)}")
    target = _text(row, "target", MOST_ROW_CHARS)
    content, remark = _without_markers(_text(row, "content", MOST_ROW_CHARS), "content")
    if op != "append" and not target.strip():
        raise _Unusable(f"is {op!r} without a target")
    if op != "delete" and not content.strip():
        raise _Unusable(f"is {op!r} without content")
    named = row.get("document")
    document = _DOCUMENTS.get(_word(named))
    if named is not None and document is None:
        unknown = f"names the document {shown(named)}, which is neither 'skill' nor 'memory'"
        remark = "; ".join(filter(None, [remark, unknown]))
    return _Row(ProposedEdit(op=op, target=target, content=content, document=document), remark)


def _suggestion(row: Mapping[str, Any]) -> _Row:
    instruction, remark = _without_markers(_text(row, "instruction", MOST_ROW_CHARS), "instruction")
    if not instruction.strip():
        raise _Unusable("has no instruction")
    kind = _word(row.get("type"))
    remarks = [remark]
    if kind not in SUGGESTION_TYPES:
        told = shown(row.get("type"))
        remarks.append(f"has the type {told}, read as {_DEFAULT_SUGGESTION!r}")
        kind = _DEFAULT_SUGGESTION
    hint = row.get("priority_hint")
    priority = _PRIORITIES.get(_word(hint))
    if hint is not None and priority is None:
        remarks.append(f"has the priority_hint {shown(hint)}, read as 'medium'")
    change = ProposedSuggestion(
        type=kind,
        title=storable(row.get("title"))[:_LINE_CHARS],
        motivation=storable(row.get("motivation"))[:MOST_ROW_CHARS],
        instruction=instruction.strip(),
        priority_hint=priority or "medium",
    )
    return _Row(change, "; ".join(filter(None, remarks)))


def _rewrite(row: Mapping[str, Any]) -> _Row:
    text = _text(row, "new_skill", MOST_DOCUMENT_CHARS)
    if not text.strip():
        raise _Unusable("has no new_skill")
    summary = lines_of(row.get("change_summary"), _SUMMARY_ROWS, _LINE_CHARS)
    title = storable(row.get("title"))[:_LINE_CHARS]
    return _Row(ProposedRewrite(title=title, change_summary=summary, new_skill=text))


_READERS: dict[UpdateMode, Callable[[Mapping[str, Any]], _Row]] = {
    "patch": _edit,
    "rewrite_from_suggestions": _suggestion,
    "full_rewrite_minibatch": _rewrite,
}
_PLURAL: dict[UpdateMode, str] = {
    "patch": "edits",
    "rewrite_from_suggestions": "suggestions",
    "full_rewrite_minibatch": "candidates",
}


def _text(row: Mapping[str, Any], name: str, most: int) -> str:
    value = "" if row.get(name) is None else row[name]
    if not isinstance(value, str):
        raise _Unusable(f"has {sort_of(value)} as {name}, not a text")
    if not is_unicode(value):
        raise _Unusable(f"has a {name} that is not valid Unicode")
    if len(value) > most:
        raise _Unusable(f"has a {name} of {len(value)} characters; {most} are the most")
    return value


def _without_markers(text: str, name: str) -> tuple[str, str]:
    plain = without_markers(text) if "<!--" in text else text
    return plain, "" if plain == text else f"had region markers in its {name}; they are left out"


def _word(value: object) -> str:
    if not isinstance(value, str):
        return ""
    return value[:_LINE_CHARS].strip().casefold().replace("-", "_").replace(" ", "_")

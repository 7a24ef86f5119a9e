"""Edits of a skill document, applied one after the other with an exact report of each.

A target is matched character for character, in the body only, and only in text that no earlier
edit of the same patch has touched: what an edit means never depends on another edit's wording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.documents import DocumentName
from skillopt.domain.layout import (
    BLANK,
    block,
    continues_list,
    ending_like,
    margin_of_deletion,
    newline_of,
)
from skillopt.domain.pieces import Piece, joined, split_trailing_blank, with_line_ended
from skillopt.domain.skill import SkillDocument, without_markers

OPS = ("append", "insert_after", "replace", "delete")
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


class EditStatus(StrEnum):
    APPLIED_APPEND = "applied_append"
    APPLIED_INSERT_AFTER = "applied_insert_after"
    APPLIED_REPLACE = "applied_replace"
    APPLIED_DELETE = "applied_delete"
    EMPTY_TARGET = "skipped_empty_target"
    EMPTY_CONTENT = "skipped_empty_content"
    TARGET_MISSING = "skipped_target_missing"
    AMBIGUOUS_TARGET = "skipped_ambiguous_target"
    PROTECTED_REGION = "skipped_protected_region"
    OVERLAP = "skipped_overlap"
    NO_CHANGE = "skipped_no_change"
    UNKNOWN_OP = "skipped_unknown_op"


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
    draft = _Draft.of(document)
    reports = []
    for index, edit in enumerate(edits):
        outcome = draft.edited(edit)
        if isinstance(outcome, _Draft):
            draft, status = outcome, EditStatus(f"applied_{edit.op}")
        else:
            status = outcome
        reports.append(EditReport(index=index, op=edit.op, status=status))
    changed = any(report.applied for report in reports)
    return Applied(draft.finished() if changed else document, tuple(reports))


@dataclass(frozen=True)
class _Place:
    segment: int
    piece: int
    start: int
    end: int


@dataclass(frozen=True)
class _Draft:
    """A document while a patch is applied to it."""

    document: SkillDocument
    newline: str
    segments: tuple[tuple[Piece, ...], ...]

    @classmethod
    def of(cls, document: SkillDocument) -> _Draft:
        newline = newline_of(document.render())
        *others, last = document.segments
        if last and not last.endswith("\n"):
            last += newline  # so that each line of the body has an end to insert after
        return cls(document, newline, tuple((Piece(part),) for part in (*others, last)))

    def edited(self, edit: Edit) -> _Draft | EditStatus:
        """Give the draft after an edit, or why it is skipped."""
        if edit.op not in OPS:
            return EditStatus.UNKNOWN_OP
        content = self._in_our_newlines(without_markers(edit.content))
        if edit.op != "delete" and not content.strip():
            return EditStatus.EMPTY_CONTENT
        if edit.op == "append":
            outcome: _Draft | EditStatus = self._append(block(content))
        elif not edit.target.strip():
            return EditStatus.EMPTY_TARGET
        else:
            outcome = self._at_target(edit.op, edit.target, content)
        if isinstance(outcome, EditStatus):
            return outcome
        if outcome._text() == self._text():
            return EditStatus.NO_CHANGE
        return outcome if outcome._is_sound() else EditStatus.PROTECTED_REGION

    def finished(self) -> SkillDocument:
        """Give the document, its last line ended by one newline."""
        *others, last = (joined(pieces) for pieces in self.segments)
        kept = last.rstrip(BLANK)
        if kept or self.document.regions:
            kept += self.newline
        text = replace(self.document, segments=(*others, kept)).render()
        return SkillDocument.parse(text)

    def _at_target(self, op: str, target: str, content: str) -> _Draft | EditStatus:
        if self.newline == "\r\n":
            target = self._in_our_newlines(target)
        places = self._places(target)
        if not places:
            return self._why_missing(target)
        if len(places) > 1:
            return EditStatus.AMBIGUOUS_TARGET
        if op == "insert_after":
            return self._insert_after(places[0], block(content))
        if op == "delete":
            return self._with_change(self._with_margin(places[0]), "")
        return self._with_change(places[0], ending_like(content, target, self.newline))

    def _places(self, target: str) -> list[_Place]:
        """Find the target in untouched text: no place, the place, or two of several."""
        found: list[_Place] = []
        for segment, pieces in enumerate(self.segments):
            for number, piece in enumerate(pieces):
                start = piece.text.find(target) if piece.origin == "untouched" else -1
                while start >= 0 and len(found) < 2:
                    found.append(_Place(segment, number, start, start + len(target)))
                    start = piece.text.find(target, start + 1)
        return found

    def _why_missing(self, target: str) -> EditStatus:
        now = [joined(pieces) for pieces in self.segments]
        if any(target in text for text in (*self.document.segments, *now)):
            return EditStatus.OVERLAP
        if target in self.document.render():
            return EditStatus.PROTECTED_REGION
        return EditStatus.TARGET_MISSING

    def _append(self, content: str) -> _Draft:
        """Put a block at the end of the body, before regions that stand at the very end."""
        index = len(self.segments) - 1
        while index > 0 and not joined(self.segments[index]).strip():
            index -= 1
        split = split_trailing_blank(self.segments[index])
        pieces, blank = split.pieces, split.blank
        if pieces:
            between = "" if continues_list(joined(pieces), content) else self.newline
            pieces = with_line_ended(pieces, self.newline)
        else:
            front = self.document.front_matter
            between = self.newline if front else ""
            if front and not front.endswith("\n"):
                between += self.newline
        if index == len(self.segments) - 1:
            blank = self.newline
        elif "\n" not in blank:
            blank = self.newline * 2
        added = (Piece(between + content, "changed"), Piece(blank, "changed"))
        return self._with_segment(index, (*pieces, *added))

    def _insert_after(self, place: _Place, content: str) -> _Draft | EditStatus:
        pieces = self.segments[place.segment]
        number, start = place.piece, max(place.end - 1, 0)
        while (line_end := pieces[number].text.find("\n", start)) < 0:
            number, start = number + 1, 0
            if number == len(pieces):
                return self._why_endless(place)
        piece = pieces[number]
        if piece.origin != "untouched":
            return EditStatus.OVERLAP
        before, after = piece.text[: line_end + 1], piece.text[line_end + 1 :]
        rest: list[Piece] = [Piece(after)] if after else []
        rest += pieces[number + 1 :]
        # Texts inserted at the same place keep the order of their edits.
        earlier = 0
        while earlier < len(rest) and rest[earlier].origin == "inserted":
            earlier += 1
        added = Piece(content + self.newline, "inserted")
        whole = (*pieces[:number], Piece(before), *rest[:earlier], added, *rest[earlier:])
        return self._with_segment(place.segment, whole)

    def _why_endless(self, place: _Place) -> EditStatus:
        """Say why a line has no end: it runs into a region, or an edit took its end."""
        is_last = place.segment == len(self.segments) - 1
        return EditStatus.OVERLAP if is_last else EditStatus.PROTECTED_REGION

    def _with_change(self, place: _Place, content: str) -> _Draft:
        pieces = self.segments[place.segment]
        text = pieces[place.piece].text
        middle = (
            Piece(text[: place.start]),
            Piece(content, "changed"),
            Piece(text[place.end :]),
        )
        whole = (*pieces[: place.piece], *middle, *pieces[place.piece + 1 :])
        return self._with_segment(place.segment, whole)

    def _with_margin(self, place: _Place) -> _Place:
        """Widen a deletion to the blank space that belongs to it."""
        pieces = self.segments[place.segment]
        text = pieces[place.piece].text
        before = self.document.front_matter
        if place.segment:
            before = self.document.regions[place.segment - 1].render()
        margin = margin_of_deletion(
            before + joined(pieces[: place.piece]) + text[: place.start],
            text[place.start : place.end],
            text[place.end :] + joined(pieces[place.piece + 1 :]),
        )
        return replace(
            place,
            start=max(place.start - margin.before, 0),
            end=min(place.end + margin.after, len(text)),
        )

    def _with_segment(self, index: int, pieces: tuple[Piece, ...]) -> _Draft:
        segments = (*self.segments[:index], pieces, *self.segments[index + 1 :])
        return replace(self, segments=segments)

    def _text(self) -> str:
        segments = tuple(joined(pieces) for pieces in self.segments)
        return replace(self.document, segments=segments).render()

    def _is_sound(self) -> bool:
        """Whether the text still parses into the same protected parts."""
        found = SkillDocument.parse(self._text())
        return (
            found.bom == self.document.bom
            and found.front_matter.rstrip("\r\n") == self.document.front_matter.rstrip("\r\n")
            and found.regions == self.document.regions
        )

    def _in_our_newlines(self, text: str) -> str:
        return text.replace("\r\n", "\n").replace("\n", self.newline)

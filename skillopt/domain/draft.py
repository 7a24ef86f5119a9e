"""A document while a patch is applied to it: each edit gives the next draft, or why it is skipped.

A target is matched character for character, in the body only. Whether it is there once is asked
of the text as it was before the patch, and it is changed only where no earlier edit has touched
it: what an edit means never depends on another edit's wording.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from skillopt.domain.layout import (
    BLANK,
    block,
    continues_list,
    ending_like,
    has_mixed_newlines,
    in_newlines,
    margin_of_deletion,
    newline_of,
)
from skillopt.domain.pieces import Piece, joined, split_trailing_blank, with_line_ended
from skillopt.domain.skill import SkillDocument, without_markers

OPS = ("append", "insert_after", "replace", "delete")


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
    #: The run does not train the document that the edit is for.
    NOT_EVOLVING = "skipped_document_not_evolving"
    UNKNOWN_OP = "skipped_unknown_op"


@dataclass(frozen=True)
class _Place:
    segment: int
    piece: int
    start: int
    end: int


@dataclass(frozen=True)
class Draft:
    document: SkillDocument
    newline: str
    #: The body before the patch, its last line ended.
    original: tuple[str, ...]
    segments: tuple[tuple[Piece, ...], ...]

    @classmethod
    def of(cls, document: SkillDocument) -> Draft:
        newline = newline_of(document.render())
        *others, last = document.segments
        if last and not last.endswith("\n"):
            last += newline  # so that each line of the body has an end to insert after
        original = (*others, last)
        return cls(document, newline, original, tuple((Piece(part),) for part in original))

    def edited(self, op: str, target: str, content: str) -> Draft | EditStatus:
        """Give the draft after an edit, or why it is skipped."""
        if op not in OPS:
            return EditStatus.UNKNOWN_OP
        content = in_newlines(without_markers(content), self.newline)
        if op != "delete" and not content.strip():
            return EditStatus.EMPTY_CONTENT
        if op == "append":
            outcome: Draft | EditStatus = self._append(block(content))
        elif not target.strip():
            return EditStatus.EMPTY_TARGET
        else:
            outcome = self._at_target(op, target, content)
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

    def _at_target(self, op: str, target: str, content: str) -> Draft | EditStatus:
        if not has_mixed_newlines(self.document.render()):
            target = in_newlines(target, self.newline)
        if _occurs_twice(target, self.original):
            return EditStatus.AMBIGUOUS_TARGET
        place = self._place(target)
        if place is None:
            return self._why_missing(target)
        if op == "insert_after":
            return self._insert_after(place, block(content))
        if op == "delete":
            return self._with_change(self._with_margin(place), "")
        return self._with_change(place, ending_like(content, target, self.newline))

    def _place(self, target: str) -> _Place | None:
        """Find the target in untouched text, where it is once at most."""
        for segment, pieces in enumerate(self.segments):
            for number, piece in enumerate(pieces):
                start = piece.text.find(target) if piece.origin == "untouched" else -1
                if start >= 0:
                    return _Place(segment, number, start, start + len(target))
        return None

    def _why_missing(self, target: str) -> EditStatus:
        now = [joined(pieces) for pieces in self.segments]
        if any(target in text for text in (*self.original, *now)):
            return EditStatus.OVERLAP
        if target in self.document.render() or target in self._text():
            return EditStatus.PROTECTED_REGION
        return EditStatus.TARGET_MISSING

    def _append(self, content: str) -> Draft:
        """Put a block at the end of the body, before the run's own regions that end the text."""
        index, regions = len(self.segments) - 1, self.document.regions
        while index and not joined(self.segments[index]).strip():
            if regions[index - 1].name == "FROZEN":
                break  # the body goes on behind what its author froze
            index -= 1
        split = split_trailing_blank(self.segments[index])
        pieces, blank = split.pieces, split.blank
        if pieces:
            between = "" if continues_list(joined(pieces), content) else self.newline
            pieces = with_line_ended(pieces, self.newline)
        else:
            between = self._gap_before(index)
        if index == len(self.segments) - 1:
            blank = self.newline
        elif "\n" not in blank:
            blank = self.newline * 2
        added = (Piece(between + content, "changed"), Piece(blank, "changed"))
        return self._with_segment(index, (*pieces, *added))

    def _gap_before(self, index: int) -> str:
        """Give what parts a block from the region or front matter right before its segment."""
        if index:
            return self.newline * 2
        front = self.document.front_matter
        if not front:
            return ""
        return self.newline if front.endswith("\n") else self.newline * 2

    def _insert_after(self, place: _Place, content: str) -> Draft | EditStatus:
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

    def _with_change(self, place: _Place, content: str) -> Draft:
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

    def _with_segment(self, index: int, pieces: tuple[Piece, ...]) -> Draft:
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


def _occurs_twice(target: str, texts: tuple[str, ...]) -> bool:
    found = 0
    for text in texts:
        start = text.find(target)
        while start >= 0 and found < 2:
            found += 1
            start = text.find(target, start + 1)
    return found > 1

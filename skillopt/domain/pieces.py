"""A text as runs that remember whether an edit has touched them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillopt.domain.layout import BLANK


@dataclass(frozen=True)
class Piece:
    """A run of text: untouched, put in between, or changed by an edit."""

    text: str
    origin: Literal["untouched", "inserted", "changed"] = "untouched"


@dataclass(frozen=True)
class Split:
    """Pieces without the blank space at their end, and that blank space."""

    pieces: tuple[Piece, ...]
    blank: str


def joined(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def split_trailing_blank(pieces: Sequence[Piece]) -> Split:
    kept, blank = list(pieces), ""
    while kept:
        text = kept[-1].text.rstrip(BLANK)
        blank = kept[-1].text[len(text) :] + blank
        if text:
            kept[-1] = replace(kept[-1], text=text)
            break
        kept.pop()
    return Split(tuple(kept), blank)


def with_line_ended(pieces: tuple[Piece, ...], newline: str) -> tuple[Piece, ...]:
    """End the last line; the line end counts as untouched, so that one can insert after it."""
    last = pieces[-1]
    if last.origin == "untouched":
        return (*pieces[:-1], Piece(last.text + newline))
    return (*pieces, Piece(newline))

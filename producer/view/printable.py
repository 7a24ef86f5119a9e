"""Text that others wrote, made safe for a terminal.

Skills, tasks and replies may hold escape sequences, markup or direction overrides. Nothing of
that may move a cursor, colour a line or reorder what a person reads.
"""

from __future__ import annotations

import unicodedata

from rich.text import Text

#: Control, format (direction overrides, zero width), surrogate and private-use characters.
_DROPPED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co"})
_KEPT = frozenset("\n\t")
_JOINER = "\u200d"  # joins emoji; harmless


def printable(text: str) -> str:
    """Drop every character that is an instruction rather than something to read."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        for character in text.replace("\r\n", "\n")
        if character in _KEPT
        or character == _JOINER
        or unicodedata.category(character) not in _DROPPED_CATEGORIES
    )


def one_line(text: str, limit: int = 200) -> str:
    """Give the text on one line, cut with an ellipsis if it is longer than `limit`."""
    line = " ".join(printable(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def safe(text: str, style: str = "") -> Text:
    """Give the text as Rich shows it literally: no markup, no control characters."""
    return Text(printable(text), style=style)


def indented(text: str, by: str = "  ") -> Text:
    """Give a text of several lines, each moved in."""
    return Text("\n".join(by + line if line else "" for line in printable(text).split("\n")))

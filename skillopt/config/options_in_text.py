"""The lists of options that a text shows: "A) … B) …", "(1) … (2) …"."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARKER = re.compile(r"(?<!\S)[(\[]?([A-Ja-j]|[1-9])[)\].:](?=\s)")
_FIRST_LABELS = ("A", "a", "1")


def option_lists(text: str) -> Iterator[dict[str, str]]:
    """Give each list of at least two options that counts up from A, a or 1: label -> words."""
    found: dict[str, str] = {}
    due = ""
    markers = list(_MARKER.finditer(text))
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    for marker, end in zip(markers, ends, strict=False):
        label = marker.group(1)
        if label != due:
            if len(found) > 1:
                yield found
            found, due = {}, ""
            if label not in _FIRST_LABELS:
                continue
        found[label] = text[marker.end() : end].strip().partition("\n")[0]
        due = chr(ord(label) + 1)
    if len(found) > 1:
        yield found


def options_with(answer: str, *texts: str) -> dict[str, str] | None:
    """Give the list of options that an answer belongs to: the longest with this label or these
    words, whatever their case, or else the longest with labels of its sort; None if none is.
    """
    lists = [found for text in texts for found in option_lists(text)]
    named = [found for found in lists if _names(answer, found)]
    similar = [found for found in lists if len(answer) == 1 and _sort(answer) == _sort(*found)]
    return max(named or similar, key=len, default=None)


def _names(answer: str, options: dict[str, str]) -> bool:
    return answer.casefold() in {name.casefold() for name in (*options, *options.values())}


def _sort(label: str, *_: str) -> str:
    return "number" if label.isdecimal() else "letter"

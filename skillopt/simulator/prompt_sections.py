"""Reading an optimizer prompt: its markdown sections, and JSON inside a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_HEADING = re.compile(r"^##\s+(.+?)\s*$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_ARRAY = re.compile(r"^[ \t]*\[", re.MULTILINE)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d{1,6}[.)])\s+(.*\S)")
#: Brackets that turn out to open no array before a text is given up.
_FAILED_ARRAYS = 50


def sections(markdown: str) -> dict[str, str]:
    """Split a text at its `##` headings (those outside fenced blocks), by title in lower case.

    Text before the first heading has the title "".
    """
    found: dict[str, list[str]] = {"": []}
    title, fence = "", ""
    for line in markdown.splitlines():
        fenced = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            if fenced and fenced.group(1).startswith(fence):
                fence = ""
        elif fenced:
            fence = fenced.group(1)
        elif heading:
            title = heading.group(1).lower()
            found.setdefault(title, [])
            continue
        found[title].append(line)
    return {title: "\n".join(lines).strip() for title, lines in found.items()}


def section(markdown: str, *titles: str) -> str | None:
    """Give the section with one of `titles`, the first that there is; None if there is none."""
    found = sections(markdown)
    return next((found[title] for title in titles if title in found), None)


def unfenced(text: str) -> str:
    """Give what stands in the first fenced block, or the text itself if there is none."""
    return next(iter(inside_fences(text)), text)


def inside_fences(text: str) -> list[str]:
    """Give what stands in each fenced block; the last may lack its end."""
    blocks: list[list[str]] = []
    fence = ""
    for line in text.splitlines():
        fenced = _FENCE.match(line)
        if fence and fenced and fenced.group(1).startswith(fence):
            fence = ""
        elif fence:
            blocks[-1].append(line)
        elif fenced:
            fence = fenced.group(1)
            blocks.append([])
    return ["\n".join(block) for block in blocks]


def json_arrays(text: str) -> Iterator[list[Any]]:
    """Give every JSON array in a text, outermost first; nesting too deep to read is no array.

    Only a bracket that opens a line is tried, and only so many in vain: the time it takes stays
    in proportion to the text.
    """
    decoder = json.JSONDecoder()
    tries_left = _FAILED_ARRAYS
    opening = _ARRAY.search(text)
    while opening is not None and tries_left > 0:
        position = opening.end() - 1
        try:
            value, end = decoder.raw_decode(text, position)
        except (json.JSONDecodeError, RecursionError):
            end = position + 1
            tries_left -= 1
        else:
            yield value
        opening = _ARRAY.search(text, end)


def json_objects(text: str) -> list[dict[str, Any]]:
    """Give the objects in the arrays of a text, in their order."""
    return [entry for array in json_arrays(text) for entry in array if isinstance(entry, dict)]


def listed(text: str) -> list[str]:
    """Give the texts of a list: of JSON arrays of texts, else of lines that open with a bullet."""
    arrays = [entry for array in json_arrays(text) for entry in array if isinstance(entry, str)]
    return arrays or [match.group(1) for match in map(_BULLET.match, text.splitlines()) if match]


def edits_wanted(user_text: str, default: int) -> int | None:
    """Read how many edits a prompt asks for at most; None if it says that there is no limit.

    `default` is for a prompt that does not speak of it.
    """
    said = section(user_text, "edits wanted", "edit budget")
    if said is None:
        match = re.search(r"\bat most (\d{1,9}) edits?\b", user_text, re.IGNORECASE)
        return int(match.group(1)) if match else default
    match = re.search(r"\bat most (\d{1,9})\b", said, re.IGNORECASE)
    return int(match.group(1)) if match else None

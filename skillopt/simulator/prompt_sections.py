"""Reading an optimizer prompt: its markdown sections, and JSON inside a text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_HEADING = re.compile(r"^##\s+(.+?)\s*$")
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")


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
    lines = text.splitlines()
    starts = [index for index, line in enumerate(lines) if _FENCE.match(line)]
    if not starts:
        return text
    opening = _FENCE.match(lines[starts[0]])
    assert opening is not None
    inner: list[str] = []
    for line in lines[starts[0] + 1 :]:
        closing = _FENCE.match(line)
        if closing and closing.group(1).startswith(opening.group(1)):
            break
        inner.append(line)
    return "\n".join(inner)


def json_arrays(text: str) -> Iterator[list[Any]]:
    """Give every JSON array of objects in a text, outermost first."""
    decoder = json.JSONDecoder()
    position = text.find("[")
    while position >= 0:
        try:
            value, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError:
            end = position + 1
        else:
            if value and all(isinstance(entry, dict) for entry in value):
                yield value
        position = text.find("[", end)


def edits_wanted(user_text: str, default: int) -> int:
    """Read how many edits a prompt asks for at most."""
    said = section(user_text, "edits wanted", "edit budget")
    if said is None:
        match = re.search(r"\bat most (\d+) edits?\b", user_text, re.IGNORECASE)
    else:
        match = re.search(r"\bat most (\d+)\b", said, re.IGNORECASE)
    return int(match.group(1)) if match else default

"""Changing a document line by line, as a model does that writes it anew."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Stands for a part of the document that is not to be changed.
_KEEP = re.compile(r"^[ \t]*<!-- KEEP \d+ -->[ \t]*$")
_BULLET = re.compile(r"^\s*[-*+]\s")


def is_kept(line: str) -> bool:
    return _KEEP.match(line) is not None


def add_lines(text: str, lines: Sequence[str]) -> str:
    """Add lines at the end of a text, before the parts at its end that are not to be changed."""
    if not lines:
        return text
    head = text.rstrip().split("\n")
    tail: list[str] = []
    while head and (is_kept(head[-1]) or (tail and not head[-1].strip())):
        tail.insert(0, head.pop())
    if not any(is_kept(line) for line in head) and not any(line.strip() for line in head):
        head, tail = tail, []
    while head and not head[-1].strip():
        head.pop()
    if head and not _BULLET.match(head[-1]):
        head.append("")
    parts = [*head, *lines, *(["", *_without_blank_edges(tail)] if tail else [])]
    return "\n".join(parts) + "\n"


def _without_blank_edges(lines: list[str]) -> list[str]:
    return "\n".join(lines).strip("\n").split("\n")

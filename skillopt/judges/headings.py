"""Headings of a markdown answer."""

from __future__ import annotations

import re

#: Up to three spaces, one to six hashes, then a space: markdown's own rule for ATX headings.
_ATX = re.compile(r" {0,3}#{1,6}[ \t](.*)")
_CLOSING_HASHES = re.compile(r"[ \t]#+$")
_EMPHASIS = " \t*_:"


def section_name(written: str) -> str:
    """Reduce a section's name as a person wrote it to the form that `headings` gives."""
    match = _ATX.fullmatch(written.strip())
    name = match.group(1) if match is not None else written
    return name.strip(_EMPHASIS) or written.strip()


def headings(text: str) -> list[str]:
    """Give the text of every ATX heading, without closing hashes, emphasis and final colon."""
    found = []
    for line in text.splitlines():
        match = _ATX.fullmatch(line)
        if match is not None:
            inner = _CLOSING_HASHES.sub("", match.group(1).rstrip())
            found.append(inner.strip(_EMPHASIS))
    return found


def labels(text: str) -> list[str]:
    """Give the text of every line that is nothing but one bold passage."""
    found = []
    for line in text.splitlines():
        inner = line.strip().removesuffix(":")
        for mark in ("**", "__"):
            if len(inner) > 2 * len(mark) and inner.startswith(mark) and inner.endswith(mark):
                content = inner[len(mark) : -len(mark)]
                if mark not in content:
                    found.append(content.strip(_EMPHASIS))
    return found

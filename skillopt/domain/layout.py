"""Fitting an edit into a markdown text: blank lines, line ends, lists."""

from __future__ import annotations

import re
from dataclasses import dataclass

BLANK = " \t\r\n"
_LEADING_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)+")
_BLANK_LINE = re.compile(r"[ \t]*\r?\n")
_ENDS_IN_BLANK_LINE = re.compile(r"(?:\A|\n)[ \t]*\r?\n\Z")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S")
_NEVER_IN_LIST = re.compile(r" {0,3}(?:#{1,6}[ \t]|```|~~~|<!--|\||(?:[-*_][ \t]*){3,}$)")


@dataclass(frozen=True)
class Margin:
    """How many characters before and after a deleted text go with it."""

    before: int = 0
    after: int = 0


def newline_of(text: str) -> str:
    """Give the line end of a text: CRLF only if every line has it."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf and crlf == text.count("\n") else "\n"


def has_mixed_newlines(text: str) -> bool:
    crlf = text.count("\r\n")
    return 0 < crlf < text.count("\n")


def in_newlines(text: str, newline: str) -> str:
    """Give every line of a text this line end."""
    return text.replace("\r\n", "\n").replace("\n", newline)


def block(content: str) -> str:
    """Take blank lines off both ends; the indent of the first line stays."""
    leading = _LEADING_BLANK_LINES.match(content)
    return content[leading.end() if leading else 0 :].rstrip(BLANK)


def ending_like(content: str, target: str, newline: str) -> str:
    """End a replacement as its target ends, so that lines are neither glued nor spread."""
    bare = content.rstrip("\r\n")
    return bare + newline if target.endswith("\n") else bare


def continues_list(text: str, content: str) -> bool:
    """Whether the content is a list item and the text ends in a list."""
    if not _LIST_ITEM.match(content):
        return False
    for line in reversed(text.splitlines()):
        if not line.strip() or _NEVER_IN_LIST.match(line):
            return False
        if _LIST_ITEM.match(line):
            return True
    return False


def margin_of_deletion(left: str, target: str, right: str) -> Margin:
    """Say what goes with a deleted target so that no empty or doubled blank line stays behind.

    `left` and `right` are the texts around it. Text beside the target on its lines stays as it
    is, and so do blank lines that were doubled before.
    """
    indent = len(left) - len(left.rstrip(" \t"))
    left = left[: len(left) - indent]
    if left and not left.endswith("\n"):
        return Margin()
    after = 0
    if not target.endswith("\n"):
        line_end = _BLANK_LINE.match(right)
        if line_end is None:
            return Margin()
        after = line_end.end()
    doubled = _BLANK_LINE.match(right, after)
    if doubled and (not left or _ENDS_IN_BLANK_LINE.search(left)):
        after = doubled.end()
    return Margin(indent, after)


def closed_up(left: str, right: str) -> str:
    """Join the texts around something that was taken out; of two gaps the wider one stays."""
    alone = (not left or left.endswith("\n")) and (not right or _BLANK_LINE.match(right))
    if not alone:
        return left + right
    leading = _LEADING_BLANK_LINES.match(right)
    kept, after = left.rstrip(BLANK), leading.group() if leading else ""
    gap = max(left[len(kept) :], after, key=lambda blank: blank.count("\n"))
    return kept + gap + right[len(after) :]

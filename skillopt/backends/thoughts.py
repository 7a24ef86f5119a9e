"""Thoughts that a server leaves in the text of an answer.

Servers that know a model's way of thinking send the thoughts in a field of their own; others leave
them before the answer, between tags. Some chat templates write the first tag themselves, so that
only the second is in the text.
"""

from __future__ import annotations

import re

_OPENED = re.compile(r"\s*<think>")
_CLOSING = "</think>"
#: A tag on which a line ends: one that an answer merely speaks of has words or marks after it.
_LONE_CLOSING = re.compile(r"</think>[ \t]*(?:\r?\n|\Z)")


def without_thoughts(text: str) -> str:
    """Give the answer alone: "" if the model never came to the end of its thoughts."""
    if _OPENED.match(text) is None:
        lone = _LONE_CLOSING.search(text)
        if lone is None or "<think>" in text[: lone.start()]:
            return text
        text = text[lone.end() :].lstrip()
    while opened := _OPENED.match(text):
        end = text.find(_CLOSING, opened.end())
        if end < 0:
            return ""
        text = text[end + len(_CLOSING) :].lstrip()
    return text

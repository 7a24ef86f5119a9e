"""The help of a command, from its docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable

_INDENT = "  "
_KEEP_BREAKS = "\b"


def help_text(command: Callable[..., object]) -> str:
    """Give a docstring so that its paragraphs wrap to the terminal.

    A paragraph with indented lines (an example), or marked with a backspace, keeps its lines.
    """
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(_paragraph(paragraph) for paragraph in paragraphs)


def _paragraph(text: str) -> str:
    lines = [line for line in text.split("\n") if line != _KEEP_BREAKS]
    if _KEEP_BREAKS in text or any(line.startswith(_INDENT) for line in lines):
        return "\n".join(lines)
    return " ".join(lines)

"""Reading single values of a reply, and naming those that cannot be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

#: Texts longer than this are no rule, note or document that anybody would want applied.
MOST_ROW_CHARS = 50_000
MOST_DOCUMENT_CHARS = 200_000
#: Why a model did something is kept for people to read, not for ever.
MOST_REASONING_CHARS = 5_000

_PROBLEMS = 10
_SHOWN_CHARS = 40


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def storable(value: object) -> str:
    """Give a text that can be stored; anything that is no text counts as none."""
    return value.encode(errors="replace").decode().strip() if isinstance(value, str) else ""


def reasoning_of(reply: Mapping[str, Any]) -> str:
    return storable(reply.get("reasoning"))[:MOST_REASONING_CHARS]


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def lines_of(value: object, most_rows: int, most_chars: int) -> tuple[str, ...]:
    """Give the texts of a list, or the one text; what is no text is left out."""
    rows = value if isinstance(value, list) else [value]
    found = [line[:most_chars] for row in rows if (line := storable(row))]
    return tuple(found[:most_rows])


def sort_of(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean"}
    return "null" if value is None else names.get(type(value), "a number")


def shown(value: object) -> str:
    if isinstance(value, dict | list):
        return sort_of(value)
    text = repr(value if not isinstance(value, str) else value[: 2 * _SHOWN_CHARS])
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


def first_of(problems: Sequence[str]) -> tuple[str, ...]:
    """Keep what a person would read of a list of problems."""
    left_out = len(problems) - _PROBLEMS
    more = [f"and {left_out} more"] if left_out > 0 else []
    return (*problems[:_PROBLEMS], *more)

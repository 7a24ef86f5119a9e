"""Stored or received values that cannot be read, in words."""

from __future__ import annotations

from typing import Final

from pydantic import ValidationError

#: Characters of a place, and of what is wrong there: both may quote what arrived.
_PLACE: Final = 80
_WRONG: Final = 160


def in_short(error: ValidationError) -> str:
    """Say where and why a value is wrong; of the value itself, which may be large, hardly any."""
    first, *others = error.errors(include_url=False, include_context=False, include_input=False)
    place = ".".join(map(str, first["loc"]))
    where = f"{place[:_PLACE]}: " if place else ""
    more = f" (and {len(others)} more)" if others else ""
    return f"{where}{first['msg'][:_WRONG]}{more}"


def is_damaged(error: ValidationError) -> bool:
    """Whether the value is not even JSON: no version wrote it as it is now."""
    return any(problem["type"] == "json_invalid" for problem in error.errors(include_input=False))

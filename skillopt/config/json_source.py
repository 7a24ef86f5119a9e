"""JSON as a person wrote it, read strictly: what could not be sent or stored later is refused."""

from __future__ import annotations

import json
import math
from typing import Any

#: Deeper than any task needs, and shallow enough for everything that walks a value later.
MAX_DEPTH = 64
_MAX_DIGITS = 100
_TOO_DEEP = f"it is nested more than {MAX_DEPTH} levels deep"


def decode(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Decode one value; raises ValueError (JSONDecodeError where a place is known)."""
    try:
        value = _DECODER.decode(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    require_plain(value)
    return value


def decode_at(text: str, place: int) -> tuple[Any, int]:
    """Decode the value that begins at `place`; gives it and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, place)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    require_plain(value)
    return value, end


def require_plain(value: object, depth: int = 1) -> None:
    """Raise ValueError unless every text can be encoded and nothing is nested too deeply."""
    if isinstance(value, str):
        if not is_encodable(value):
            raise ValueError(
                f"{value[:80]!r} holds half of a surrogate pair; write the character itself"
            )
        return
    if not isinstance(value, dict | list):
        return
    if depth > MAX_DEPTH:
        raise ValueError(_TOO_DEEP)
    for part in (*value, *value.values()) if isinstance(value, dict) else value:
        require_plain(part, depth + 1)


def is_encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form; one with half of a surrogate pair has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:_MAX_DIGITS]} is too large")
    return number


def _short_integer(digits: str) -> int:
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits; give at most {_MAX_DIGITS}")
    return int(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is given twice")
    return result


_DECODER = json.JSONDecoder(
    parse_constant=_refuse_constant,
    parse_float=_finite,
    parse_int=_short_integer,
    object_pairs_hook=_object,
)

"""Finding the JSON object in a model's reply.

Models put prose, fences and examples around it. Every `{` that can begin an object is tried with
a real JSON decoder, so brackets in strings or in prose do no harm. Raw line breaks in strings
are accepted; a reply that ends in the middle of an object is not.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from skillopt.errors import ReplyError

_OBJECT_START = re.compile(r'\{(?=\s*["}])')
#: What a decoder stumbles over when a text ends early: nothing, or half a literal, number or
#: escape.
_CUT_TOKEN = re.compile(
    r"(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|[-.]|[eE][-+]?|\\?u?[0-9a-fA-F]*)\s*\Z"
)
#: Bounds that keep hostile replies linear; real ones need one reading and fail at few places.
_READINGS = 4
_MOST_FAILURES = 500
_SHOWN_CHARS = 40


@dataclass(frozen=True)
class _Failure:
    """Why no object begins at some `{`, and up to where it looked like one."""

    position: int
    problem: str
    cut_off: bool = False


def extract_object(text: str, key: str) -> dict[str, Any]:
    """Give the one object of a reply that has `key`.

    Raises ReplyError, whose message tells the model what to do better, if there is no such
    object, if there are several different ones, or if the reply ends within one.
    """
    found: list[dict[str, Any]] = []
    furthest: _Failure | None = None
    allowance = _READINGS * len(text)
    failures = position = 0
    while (start := _OBJECT_START.search(text, position)) is not None:
        outcome = _decode(text, start.start())
        if isinstance(outcome, _Decoded):
            found.append(outcome.value)
            position = outcome.end
            continue
        if outcome.cut_off:
            raise ReplyError(f"the reply is cut off within a JSON object: {outcome.problem}")
        failures += 1
        if failures > _MOST_FAILURES:
            raise ReplyError(f"the reply's JSON is not valid: {outcome.problem}")
        if furthest is None or outcome.position > furthest.position:
            furthest = outcome
        allowance -= outcome.position - start.start()
        position = start.end() if allowance > 0 else max(outcome.position, start.end())
    return _only(found, key, furthest)


def _only(found: list[dict[str, Any]], key: str, furthest: _Failure | None) -> dict[str, Any]:
    having = [value for value in found if key in value]
    if having:
        if any(value != having[0] for value in having):
            raise ReplyError(
                f"the reply holds {len(having)} JSON objects with the key {key!r} where one is due"
            )
        return having[0]
    if furthest is not None:
        raise ReplyError(f"the reply's JSON is not valid: {furthest.problem}")
    if found:
        keys = ", ".join(repr(_cut(name)) for name in list(found[0])[:5]) or "none"
        raise ReplyError(f"the reply's JSON object lacks the key {key!r}; its keys are {keys}")
    raise ReplyError(f"the reply holds no JSON object; one with the key {key!r} is due")


@dataclass(frozen=True)
class _Decoded:
    value: dict[str, Any]
    end: int


def _decode(text: str, start: int) -> _Decoded | _Failure:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        unterminated = error.msg.startswith("Unterminated string")
        cut_off = unterminated or _CUT_TOKEN.match(text, error.pos) is not None
        where = f"{error.msg} at line {error.lineno} column {error.colno}"
        # An unterminated string is reported where it begins, but was read to the end.
        return _Failure(len(text) if cut_off else error.pos, where, cut_off)
    except RecursionError:
        return _Failure(len(text), "it is nested too deeply")
    except ValueError as error:
        return _Failure(len(text), str(error))
    return _Decoded(value, end)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {_cut(digits)} is too large")
    return value


def _short_integer(digits: str) -> int:
    if len(digits) > _SHOWN_CHARS:
        raise ValueError(f"the number {_cut(digits)} is too large")
    return int(digits)


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


_DECODER = json.JSONDecoder(
    strict=False, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_short_integer
)

"""Finding the JSON objects in a model's reply.

Models put prose, fences and examples around them. Every `{` that can begin an object is tried with
a real JSON decoder, so brackets in strings or in prose do no harm. Raw line breaks in strings
are accepted; a reply that ends in the middle of an object is not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
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


@dataclass(frozen=True)
class _Decoded:
    value: dict[str, Any]
    start: int
    end: int


def extract_objects(text: str, key: str) -> tuple[dict[str, Any], ...]:
    """Give the objects of a reply that have `key`, in order; one that is repeated counts once.

    Raises ReplyError, whose message tells the model what to do better, if there is no such
    object or if the reply ends within one.
    """
    found: list[dict[str, Any]] = []
    having: dict[str, dict[str, Any]] = {}
    furthest: _Failure | None = None
    for outcome in _scan(text):
        if isinstance(outcome, _Decoded):
            found.append(outcome.value)
            if key in outcome.value:
                having.setdefault(text[outcome.start : outcome.end], outcome.value)
        elif outcome.cut_off:
            raise ReplyError(f"the reply is cut off within a JSON object: {outcome.problem}")
        elif furthest is None or outcome.position > furthest.position:
            furthest = outcome
    if not having:
        raise ReplyError(_why_none(found, key, furthest))
    return tuple(having.values())


def several(objects: tuple[dict[str, Any], ...], key: str, taken: str) -> tuple[str, ...]:
    """Say that a reply held more than the one object it should, and what is taken of them."""
    if len(objects) == 1:
        return ()
    return (f"the reply holds {len(objects)} JSON objects with the key {key!r}; {taken}",)


def whole_objects(text: str) -> Iterator[dict[str, Any]]:
    """Give every whole object in a text, also those within an object that is broken or cut off;
    objects within a whole one are part of it.
    """
    for outcome in _scan(text):
        if isinstance(outcome, _Decoded):
            yield outcome.value


def _scan(text: str) -> Iterator[_Decoded | _Failure]:
    """Try every place where an object may begin, within bounds that are linear in the text."""
    allowance = _READINGS * len(text)
    failures = position = 0
    while (start := _OBJECT_START.search(text, position)) is not None:
        outcome = _decode(text, start.start())
        yield outcome
        if isinstance(outcome, _Decoded):
            position = outcome.end
            continue
        failures += 1
        if failures > _MOST_FAILURES:
            return
        allowance -= outcome.position - start.start()
        position = start.end() if allowance > 0 else max(outcome.position, start.end())


def _why_none(found: list[dict[str, Any]], key: str, furthest: _Failure | None) -> str:
    if furthest is not None:
        return f"the reply's JSON is not valid: {furthest.problem}"
    if found:
        keys = ", ".join(repr(_cut(name)) for name in list(found[0])[:5]) or "none"
        return f"the reply's JSON object lacks the key {key!r}; its keys are {keys}"
    return f"the reply holds no JSON object; one with the key {key!r} is due"


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
    return _Decoded(value, start, end)


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

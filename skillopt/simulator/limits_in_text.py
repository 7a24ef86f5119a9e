"""Lengths and list sizes that a sentence states; limits of a mere part of an answer are left."""

from __future__ import annotations

import re
from collections.abc import Iterator

from skillopt.simulator.rules import AtLeast, AtMost, ListOf, Rule, Unit
from skillopt.simulator.wording import is_banned

_NUMBER = r"(?P<number>(?<!\d)\d[\d,]{0,14})"
_UNIT = r"(?P<unit>characters?|chars?|words?|sentences?|lines?)"
_PART = re.compile(
    r"\b(?:each|every|per|any|an?|the) (?:bullet|item|line|paragraph|section|sentence|heading|"
    r"title)\b|\b(?:title|heading|subject line)s?\b"
)
_FORMS: tuple[tuple[re.Pattern[str], str, int], ...] = (
    (re.compile(rf"\b(?:at most|within)\s+{_NUMBER}[\s-]{_UNIT}"), "most", 0),
    (re.compile(rf"\b(?:keep|limit)\b[^.;]{{0,40}}?\bto\s+{_NUMBER}[\s-]{_UNIT}"), "most", 0),
    (re.compile(rf"\b(?:under|below|less than|fewer than|shorter than)\s+{_NUMBER}[\s-]{_UNIT}"),
     "most", -1),
    (re.compile(rf"{_NUMBER}[\s-]{_UNIT}\s+(?:or (?:fewer|less)|at most|limit)\b"), "most", 0),
    (re.compile(rf"\bat least\s+{_NUMBER}[\s-]{_UNIT}"), "least", 0),
    (re.compile(rf"\b(?:more than|over|longer than)\s+{_NUMBER}[\s-]{_UNIT}"), "least", 1),
    (re.compile(rf"{_NUMBER}[\s-]{_UNIT}\s+or (?:more|longer)\b"), "least", 0),
    (re.compile(rf"\bexactly\s+{_NUMBER}[\s-]{_UNIT}"), "exactly", 0),
)  # fmt: skip

_COUNT_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_COUNT_WORDS)})"
_LIST_WITH_COUNT = re.compile(
    rf"\b{_COUNT}\s+(?:\w+\s+)?(?:bullets?|bullet points?|list items|numbered (?:points|items))\b|"
    rf"\blist (?:of|with)\s+(?:exactly |at least |at most )?{_COUNT.replace('count', 'count2')}\b"
)
_LIST = re.compile(r"\bbullet(?:ed)? (?:list|points?)\b|\bnumbered list\b|\bbullets\b")
_USUAL_COUNT = 3


def length_rules(words: str) -> Iterator[Rule]:
    """Give the limits on the whole answer that a sentence (in canonical wording) states."""
    if _PART.search(words):
        return
    for expression, kind, shift in _FORMS:
        for match in expression.finditer(words):
            number = int(match.group("number").replace(",", "")) + shift
            unit = _unit(match.group("unit"))
            if kind in ("most", "exactly"):
                yield AtMost(number, unit)
            if kind in ("least", "exactly"):
                yield AtLeast(number, unit)


def list_rules(words: str) -> Iterator[Rule]:
    """Give the list that a sentence (in canonical wording) asks for."""
    counted = _LIST_WITH_COUNT.search(words)
    plain = _LIST.search(words)
    match = counted or plain
    if match is None or is_banned(words[: match.start()]):
        return
    count = _USUAL_COUNT
    if counted:
        said = counted.group("count") or counted.group("count2")
        count = int(said) if said.isdigit() else _COUNT_WORDS.index(said) + 1
    yield ListOf(count, numbered="numbered" in words)


def _unit(word: str) -> Unit:
    for unit, start in (("words", "word"), ("sentences", "sentence"), ("lines", "line")):
        if word.startswith(start):
            return unit  # type: ignore[return-value]  # each is one of Unit's words
    return "characters"

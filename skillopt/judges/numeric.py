"""The numeric judge: the final answer states one of the expected numbers, within a tolerance.

The number counts, not how it is written: separators, powers of ten, fractions and words such as
"million" are read. An expected answer with a unit ("5 km") accepts that unit or none; one without
accepts any. An expected number of at most 1 is a share, so that 25% is 0.25; a larger one counts
percents, so that 25% is 25; "25%" as expected answer accepts 25% and 25. All numbers that the
answer states must be right: "3 or 4" is not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice

from skillopt.domain.item import NumericJudge
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.final_answer import final_answer, last_match, listed, shown
from skillopt.judges.quantities import Quantity, plain_text, quantities
from skillopt.judges.scorer import blank_answers, missing_answer, verdict

_LIST_NUMBER = re.compile(r"\(?[0-9]{1,3}[.)] (?=.*[0-9])")
_CUES = (
    re.compile(r"\banswer(?: is)?\b", re.IGNORECASE),
    re.compile(r"(?<![<>!])[=≈](?!>)"),
    re.compile(r": "),
)
#: More numbers than these are not listed to anybody.
_MOST_NUMBERS = 20
_SHOWN_DIGITS = 80
_UNIT_SIGNS = "%°$€£¥₹"
_UNIT = re.compile(rf"(?:[^\W\d_]|[{_UNIT_SIGNS}])[\w /^·.-]{{0,30}}")
#: From this length on, a unit is a word: upper and lower case and a plural do not matter.
_WORD_CHARS = 3


@dataclass(frozen=True)
class _Expected:
    value: Fraction
    unit: str
    is_percent: bool


class NumericScorer:
    version = 1

    def problems(self, judge: NumericJudge) -> list[str]:
        return blank_answers("numeric", judge.answers) or [
            f"numeric answer {number}: {problem}"
            for number, answer in enumerate(judge.answers, start=1)
            if isinstance(problem := _read(answer), str)
        ]

    def score(self, judge: NumericJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        missing = missing_answer(reply)
        given = "" if missing else final_answer(reply.text)
        numbers = _stated(given)
        expected = [one for one in map(_read, judge.answers) if isinstance(one, _Expected)]
        right = bool(numbers) and all(
            any(_agrees(one, number, judge) for one in expected) for number in numbers
        )
        criteria = [
            CriterionResult(
                name="numeric",
                requirement="the last line states the result as one number, or <answer>…</answer> "
                "holds it",
                passed=right or len(numbers) == 1,
                detail=missing or _form(given, numbers),
            ),
            CriterionResult(
                name=f"numeric={' | '.join(judge.answers)}",
                requirement=f"the number is the expected one{_tolerance(judge)}",
                passed=right,
                detail=missing or f"{_seen(numbers)}; expected {listed(judge.answers)}",
            ),
        ]
        soft = 1.0 if right else _nearness(expected, numbers) if judge.partial else 0.0
        return verdict(criteria, lead=missing or "", soft=soft)


def number_of(answer: str) -> str | None:
    """Give an expected answer's number in a form that is the same however it is written."""
    read = _read(answer)
    return None if isinstance(read, str) else f"{read.value}{'%' if read.is_percent else ''}"


def _read(answer: str) -> _Expected | str:
    """Read an expected answer, or say what is wrong with it."""
    text = plain_text(answer)
    found = _first(text)
    if len(found) != 1 or found[0].value is None:
        return f"{answer!r} is not one number; write it like 1234.5, 12%, 3e-4, 1/3 or '5 km'"
    [number] = found
    if number.letter:
        return (
            f"{answer!r} may be a unit or a multiple; write the number out, or a space before "
            "the unit"
        )
    unit = number.after.strip()
    rest = text.replace(number.written, "", 1).strip()
    if rest != unit or (unit and (number.is_percent or not _UNIT.fullmatch(unit))):
        return f"{answer!r} says more than a number and its unit; leave the rest out"
    assert number.value is not None
    return _Expected(number.value, unit or number.before, number.is_percent)


def _stated(answer: str) -> list[Quantity]:
    """Give the numbers that an answer states as its result: those after its last = or colon."""
    text = plain_text(answer)
    list_number = _LIST_NUMBER.match(text)
    if list_number is not None:
        text = text[list_number.end() :]
    for cue in _CUES:
        last = last_match(cue, text)
        if last is not None and next(quantities(text[last.end() :]), None) is not None:
            text = text[last.end() :]
    return _first(text)


def _first(text: str) -> list[Quantity]:
    return list(islice(quantities(text), _MOST_NUMBERS))


def _agrees(expected: _Expected, given: Quantity, judge: NumericJudge) -> bool:
    value = _comparable(expected, given)
    if value is None:
        return False
    allowed = max(_exact(judge.absolute), _exact(judge.relative) * abs(expected.value))
    return abs(value - expected.value) <= allowed


def _exact(number: float) -> Fraction:
    return Fraction(repr(number))


def _comparable(expected: _Expected, given: Quantity) -> Fraction | None:
    """Give the value in the expected answer's unit; None if it is of another."""
    if given.value is None:
        return None
    if expected.is_percent:
        fits = given.is_percent or _has_no_unit(given)
        return given.value if fits else None
    if not expected.unit:
        if given.is_percent and abs(expected.value) <= 1:
            return given.value / 100
        return given.value * given.scale
    if given.is_percent:
        return None
    if given.letter and expected.unit == given.letter:
        return given.value
    fits = given.before == expected.unit or _follows(expected.unit, given.after)
    return given.value * given.scale if fits or _has_no_unit(given) else None


def _has_no_unit(given: Quantity) -> bool:
    ahead = given.after.lstrip()[:1]
    return not given.before and not (ahead.isalnum() or (ahead and ahead in _UNIT_SIGNS))


def _follows(unit: str, after: str) -> bool:
    after = after.lstrip()
    if len(unit) >= _WORD_CHARS:
        unit, after = unit.casefold().removesuffix("s"), after.casefold()
        rest = after.removeprefix(unit).removeprefix("s")
    else:
        rest = after.removeprefix(unit)
    return after.startswith(unit) and not rest[:1].isalnum() and rest[:1] not in ("/", "^", "²")


def _nearness(expected: Sequence[_Expected], numbers: Sequence[Quantity]) -> float:
    """Give the ratio of the smaller to the larger number, 0 for different signs."""
    if len(numbers) != 1:
        return 0.0
    best = Fraction(0)
    for one in expected:
        value = _comparable(one, numbers[0])
        if value is not None and value * one.value > 0:
            small, large = sorted((abs(value), abs(one.value)))
            best = max(best, small / large)
    return float(best)


def _tolerance(judge: NumericJudge) -> str:
    parts = [f"{judge.absolute:g}"] if judge.absolute else []
    parts += [f"{judge.relative * 100:g}%"] if judge.relative else []
    return f", give or take {' or '.join(parts)}" if parts else ""


def _form(given: str, numbers: Sequence[Quantity]) -> str:
    return f"{_seen(numbers)} in {shown(given)}"


def _seen(numbers: Sequence[Quantity]) -> str:
    if not numbers:
        return "no number is stated"
    stated = ", ".join(_cut(number.written) for number in numbers[:5])
    more = " and more" if len(numbers) > 5 else ""
    return f"stated is {stated}{more}"


def _cut(written: str) -> str:
    return written if len(written) <= _SHOWN_DIGITS else written[: _SHOWN_DIGITS - 1] + "…"

"""Judges with expected answers as a person writes them: answer, numeric and choice."""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from skillopt.config.options_in_text import options_with
from skillopt.domain.item import AnswerJudge, ChoiceJudge, Judge, NumericJudge

#: Labels that a list of options has if nothing says which.
_LETTERS = dict.fromkeys("ABCDEFGH", "")
_DIGITS = dict.fromkeys("123456789", "")
#: An answer in place of those that each task gives, to check all else of a default judge.
_SAMPLES = {"answer": "x", "numeric": "1", "choice": "A"}
_EXAMPLE = 'give them as ["…", "…"], or in the record as `answers`'
Read = tuple[Judge | None, list[str]]


@dataclass(frozen=True)
class Told:
    """What a task's own record says that its judge may need."""

    answers: object = None
    #: Its task and its context, which may show options.
    texts: tuple[str, ...] = ()
    #: The judge is a default: each task will give its answers.
    is_default: bool = False

    def for_kind(self, kind: str, written: Mapping[str, Any]) -> Told:
        """Stand in for the tasks' answers if this is a default judge of a kind that has some."""
        if not self.is_default or kind == "rubric":
            return self
        if written.get("answers", written.get("answer")) is not None:
            return Told()
        choices = _choices(written.get("choices"))
        sample = next(iter(choices or ()), _SAMPLES.get(kind, "x"))
        return Told(answers=sample, texts=self.texts)


def read_answer(written: Mapping[str, Any], told: Told) -> Read:
    answers, problems = expected(written, told)
    return (None, problems) if problems else (AnswerJudge(answers=answers), [])


def read_numeric(written: Mapping[str, Any], told: Told) -> Read:
    answers, problems = expected(written, told, numbers=True)
    limits = {}
    for key in ("absolute", "relative"):
        limit = _tolerance(written.get(key, 0))
        if limit is None:
            shown = written[key]
            problems.append(f"judge.{key}: {shown!r} is not a number from 0; write it like 0.01")
        limits[key] = limit or 0.0
    partial = written.get("partial", False)
    if not isinstance(partial, bool):
        problems.append(f"judge.partial: {partial!r} is not true or false")
    if problems:
        return None, problems
    return NumericJudge(answers=answers, partial=partial, **limits), []


def _tolerance(written: object) -> float | None:
    """Read a tolerance, also one like "1%"; None if it is none."""
    percent = isinstance(written, str) and written.strip().endswith("%")
    try:
        value = float(str(written).strip().removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        return None
    fits = not isinstance(written, bool) and math.isfinite(value) and value >= 0
    return value if fits else None


def read_choice(written: Mapping[str, Any], told: Told) -> Read:
    answers, problems = expected(written, told, numbers=True)
    choices = _choices(written.get("choices"))
    if choices is None and written.get("choices") is not None:
        problems.append(
            f"judge.choices: {written['choices']!r} is neither a list of texts nor an object of "
            'them; write ["…", "…"] or {"A": "…", "B": "…"}'
        )
    if problems:
        return None, problems
    if choices is None:
        choices = _shown_options(answers, told.texts)
    labels = tuple(_label(answer, choices) for answer in answers)
    return ChoiceJudge(answers=labels, choices=choices), []


def _choices(written: object) -> dict[str, str] | None:
    """Read options; a list has the labels A, B, C and so on. None if they are not usable."""
    if isinstance(written, list):
        if not written or len(written) > len(string.ascii_uppercase):
            return None
        written = dict(zip(string.ascii_uppercase, written, strict=False))
    if not isinstance(written, dict) or not written:
        return None
    plain = {str(label): text for label, text in written.items()}
    if any(isinstance(text, bool) or not isinstance(text, str | int | float)
           for text in plain.values()):  # fmt: skip
        return None
    return {label: str(text) for label, text in plain.items()}


def _shown_options(answers: Sequence[str], texts: Sequence[str]) -> dict[str, str]:
    """Take the options from the task's own text, or else the usual labels."""
    found = options_with(answers[0].strip(), *texts)
    if found is not None:
        return found
    return _DIGITS if answers[0].strip().isdecimal() else _LETTERS


def _label(answer: str, choices: Mapping[str, str]) -> str:
    """Give the label of an expected answer, which may be the option's text instead."""
    wanted = answer.strip().casefold()
    for label in choices:
        if label.casefold() == wanted:
            return label
    same = [label for label, text in choices.items() if text.strip().casefold() == wanted]
    return same[0] if len(same) == 1 else answer.strip()


def expected(
    written: Mapping[str, Any], told: Told, *, key: str = "answers", numbers: bool = False
) -> tuple[tuple[str, ...], list[str]]:
    """Read expected answers, of the judge or else of its task; all that is wrong with them."""
    own, given = written.get(key), told.answers
    if own is not None and given is not None and _listed(own) != _listed(given):
        return (), [
            f"judge.{key}: {own!r} differs from the record's own answers {given!r}; keep one"
        ]
    value = own if own is not None else given
    if value is None or value == []:
        return (), [f"judge.{key} is missing; {_EXAMPLE}"]
    kinds = str | int | float if numbers else str | int
    problems = [
        f"judge.{key}: {answer!r} is not a {'number or ' if numbers else ''}text; put it in quotes"
        for answer in _listed(value)
        if isinstance(answer, bool) or not isinstance(answer, kinds)
    ]
    return tuple(str(answer) for answer in _listed(value)), problems


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else [value]

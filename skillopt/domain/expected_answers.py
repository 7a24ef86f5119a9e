"""The answers that a judge expects, whatever its kind calls them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skillopt.domain.item import (
    AddedJudge,
    AnswerJudge,
    ChoiceJudge,
    ExactJudge,
    FunctionJudge,
    Judge,
    NumericJudge,
)


def expected_answers(judge: Judge) -> tuple[str, ...]:
    """Give the texts that a judge accepts as answer; none if it looks for something else.

    Of a right option both the label and the text are given.
    """
    if isinstance(judge, ExactJudge):
        return (judge.answer,) if isinstance(judge.answer, str) else judge.answer
    if isinstance(judge, AnswerJudge | NumericJudge):
        return judge.answers
    if isinstance(judge, ChoiceJudge):
        texts = (judge.choices.get(label, "") for label in judge.answers)
        return (*judge.answers, *(text for text in texts if text))
    if isinstance(judge, FunctionJudge):
        return tuple(_told(judge.task))
    if isinstance(judge, AddedJudge):
        return tuple(_told(judge.fields))
    return ()


def _told(values: Mapping[str, Any]) -> Iterator[str]:
    for name in ("answer", "answers"):
        given = values.get(name)
        listed = given if isinstance(given, list) else [given]
        yield from (one for one in listed if isinstance(one, str))

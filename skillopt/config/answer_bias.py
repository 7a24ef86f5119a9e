"""Answers that are right too often: one text, or one place in a list of options.

A document that states such an answer scores well and has taught nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from skillopt.config.options_in_text import option_lists
from skillopt.domain.expected_answers import expected_answers
from skillopt.domain.item import (
    SPLITS,
    AnswerJudge,
    ChoiceJudge,
    ExactJudge,
    Item,
    NumericJudge,
    Splits,
)
from skillopt.judges.exact import normalise
from skillopt.judges.numeric import number_of

#: Fewer tasks than this show no pattern.
FEWEST_TASKS = 10
#: From this share of the tasks on, one answer is right too often.
TOO_OFTEN = 0.6
#: Of two possible answers, one is right in half of the tasks by nature.
TOO_OFTEN_OF_TWO = 0.75

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True)
class _Bias(Generic[Value]):
    value: Value
    count: int
    n: int

    @property
    def share(self) -> str:
        return f"{self.count} of {self.n} tasks"


def biased_answers(splits: Splits) -> list[str]:
    """Describe the bias of all tasks together, or else of each split by itself."""
    everything = [item for split in SPLITS for item in splits.of(split)]
    found = _describe(everything, "")
    if found:
        return [found]
    each = (_describe(splits.of(split), f" of {split}") for split in SPLITS)
    return [text for text in each if text]


def _describe(items: Sequence[Item], of: str) -> str | None:
    answers = [(_answers(item), item) for item in items]
    bias = _most_frequent([accepted for accepted, _ in answers if accepted])
    if bias is not None:
        return (
            f"{bias.share}{of} with an expected answer accept {bias.value!r}: a document that "
            "says so passes them without any work; balance the answers"
        )
    places = [frozenset({place}) for _, item in answers if (place := _place(item)) is not None]
    position = _most_frequent(places)
    if position is None:
        return None
    return (
        f"{position.share}{of} with options have option {position.value} as answer: a document "
        "that says so passes them without any work; shuffle the options"
    )


def _most_frequent(accepted: Sequence[frozenset[Value]]) -> _Bias[Value] | None:
    """Give the value that too many of the sets hold; the first of several."""
    if len(accepted) < FEWEST_TASKS:
        return None
    counts = Counter(value for values in accepted for value in sorted(values, key=str))
    value, count = counts.most_common(1)[0]
    limit = TOO_OFTEN_OF_TWO if len(set(accepted)) == 2 else TOO_OFTEN
    if count < limit * len(accepted):
        return None
    return _Bias(value, count, len(accepted))


def _answers(item: Item) -> frozenset[str]:
    """Give what is right for a task in one form, however it is written."""
    if isinstance(item.judge, ChoiceJudge):
        return frozenset(map(normalise, item.judge.answers))
    if isinstance(item.judge, NumericJudge):
        numbers = map(number_of, item.judge.answers)
        return frozenset(number for number in numbers if number is not None)
    if isinstance(item.judge, ExactJudge | AnswerJudge):
        return frozenset(map(normalise, expected_answers(item.judge)))
    return frozenset()


def _place(item: Item) -> int | None:
    """Give the number, from 1, of the option that is the task's answer; None if none is."""
    if isinstance(item.judge, NumericJudge):
        return None
    answers = set(map(normalise, expected_answers(item.judge)))
    if not answers:
        return None
    for text in (item.prompt.task, item.prompt.context):
        for number, names in enumerate(_options(text), start=1):
            if answers & names:
                return number
    return None


def _options(text: str) -> list[set[str]]:
    """Give the ways to name each option of a text: its letter or number, its words, both."""
    longest = max(option_lists(text), key=len, default={})
    return [
        {normalise(label), normalise(words), normalise(f"{label}) {words}")}
        for label, words in longest.items()
    ]

"""Answers that are right too often: one text, or one place in a list of options.

A document that states such an answer scores well and has taught nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from skillopt.domain.item import SPLITS, ExactJudge, Item, Splits
from skillopt.judges.exact import normalise

#: Fewer tasks than this show no pattern.
FEWEST_TASKS = 10
#: From this share of the tasks on, one answer is right too often.
TOO_OFTEN = 0.6
#: Of two possible answers, one is right in half of the tasks by nature.
TOO_OFTEN_OF_TWO = 0.75

_MARKER = re.compile(r"(?<!\S)[(\[]?([A-Ha-h]|[1-9])[)\].:](?=\s)")
_FIRST_LABELS = ("A", "a", "1")
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
    answers = [(frozenset(map(normalise, _answers(item))), item) for item in items]
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


def _answers(item: Item) -> tuple[str, ...]:
    if not isinstance(item.judge, ExactJudge):
        return ()
    answer = item.judge.answer
    return (answer,) if isinstance(answer, str) else answer


def _place(item: Item) -> int | None:
    """Give the number, from 1, of the option that is the task's answer; None if none is."""
    answers = set(map(normalise, _answers(item)))
    if not answers:
        return None
    for text in (item.prompt.task, item.prompt.context):
        for number, names in enumerate(_options(text), start=1):
            if answers & names:
                return number
    return None


def _options(text: str) -> list[set[str]]:
    """Give the ways to name each option of a text: its letter or number, its words, both."""
    runs = list(_runs(text))
    return max(runs, key=len) if runs else []


def _runs(text: str) -> Iterator[list[set[str]]]:
    """Give each list of at least two options that counts up from A, a or 1."""
    run: list[set[str]] = []
    due = ""
    markers = list(_MARKER.finditer(text))
    ends = [marker.start() for marker in markers[1:]] + [len(text)]
    for marker, end in zip(markers, ends, strict=False):
        label = marker.group(1)
        if label != due:
            if len(run) > 1:
                yield run
            run, due = [], ""
            if label not in _FIRST_LABELS:
                continue
        words = text[marker.end() : end].strip().partition("\n")[0]
        run.append({normalise(label), normalise(words), normalise(f"{marker.group()} {words}")})
        due = chr(ord(label) + 1)
    if len(run) > 1:
        yield run

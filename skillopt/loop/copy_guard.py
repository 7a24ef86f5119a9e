"""The copy guard: does a text repeat what only a training task says?

A rule learnt from a task should hold for other tasks; one that carries the task's own sentences or
its answer was memorised. Texts that a rule must take over literally never count: what rule judges
look for, system prompts, the user's preferences, and what most tasks have in common.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from skillopt.domain.expected_answers import expected_answers
from skillopt.domain.item import Item, RuleJudge
from skillopt.domain.plan import RunPlan

#: So many words in a row are no coincidence.
RUN_OF_WORDS = 8
#: An answer of so many words is looked for; of a shorter one only what is long and rare.
ANSWER_WORDS = 3
LONG_ANSWER = 12
LONG_CODE = 8
#: A code that more tasks have is a word of the domain.
RARE_CODE_ITEMS = 3
#: Literal texts of judges with fewer words cannot make up a run that counts.
_LITERAL_WORDS = 3
#: Training sets whose words are kept: proposals are many, the tasks of a run stay the same.
_KEPT_SETS = 8

_WORD = re.compile(r"\w+")
_HAS_DIGIT = re.compile(r"\d")
_PUNCTUATION = "\"'`.,;:!?()[]{}<>*_#“”\u2018\u2019"
#: No word, so that nothing is found across it.
_APART = " \0 "


@dataclass(frozen=True)
class _Text:
    """A text as the guard compares it: its words with a space around each, and its codes."""

    words: str
    codes: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> _Text:
        return cls(
            f" {_APART.join(' '.join(_words(text)) for text in texts)} ",
            frozenset(code for text in texts for code in _codes(text)),
        )

    def says(self, words: str) -> bool:
        return f" {words} " in self.words

    def knows(self, finding: str) -> bool:
        return finding in self.codes or self.says(finding)


@dataclass(frozen=True)
class _Tasks:
    """A training set, read once."""

    items: tuple[str, ...]
    own: tuple[_Text, ...]
    answers: tuple[tuple[str, ...], ...]
    #: By the hash of a run of words: the first item that has it, and all others. The hash only
    #: says where to look.
    first: dict[int, int]
    others: dict[int, list[int]]
    #: What rule judges look for, in words, the longest first.
    literals: tuple[str, ...]
    #: All that anybody may repeat: literal texts and system prompts.
    free: _Text

    @classmethod
    def of(cls, train: Sequence[Item]) -> _Tasks:
        first: dict[int, int] = {}
        others: dict[int, list[int]] = {}
        for place, item in enumerate(train):
            texts = (item.prompt.task, item.prompt.context)
            for run in {hash(run) for text in texts for run in _runs(_words(text))}:
                if first.setdefault(run, place) != place:
                    others.setdefault(run, []).append(place)
        literals = tuple(dict.fromkeys(_literal_texts(train)))
        return cls(
            items=tuple(item.id for item in train),
            own=tuple(_Text.of(item.prompt.task, item.prompt.context) for item in train),
            answers=tuple(tuple(_answers(item)) for item in train),
            first=first,
            others=others,
            literals=_in_words(literals),
            free=_Text.of(*literals, *dict.fromkeys(item.prompt.system for item in train)),
        )

    def with_run(self, run: str) -> Iterator[int]:
        """Give the places of the items whose own text has a run of words."""
        hashed = hash(run)
        if hashed in self.first:
            for place in (self.first[hashed], *self.others.get(hashed, ())):
                if self.own[place].says(run):
                    yield place


def copied_from(text: str, plan: RunPlan, *, besides: str = "") -> tuple[str, ...]:
    """Name the train items whose own text `text` repeats and `besides` does not.

    Only the item's task, its context and the answer its judge expects are its own.
    """
    tasks, written = _tasks(_Same(plan.splits.train)), _Text.of(text)
    found: dict[int, set[str]] = {}
    for piece in _between(written.words, tasks.literals):
        for run in _runs(piece.split()):
            for place in tasks.with_run(run):
                found.setdefault(place, set()).add(run)
    for place, answers in enumerate(tasks.answers):
        told = {answer for answer in answers if written.says(answer)}
        if told:
            found.setdefault(place, set()).update(told)
    codes = {
        place: shared
        for place, own in enumerate(tasks.own if written.codes else ())
        if (shared := own.codes & written.codes)
    }
    if not found and not codes:
        return ()
    usual = _common(found.values(), len(tasks.items) // 2)
    usual |= _common(codes.values(), RARE_CODE_ITEMS)
    free = (tasks.free, _Text.of(besides, plan.settings.preferences))
    return tuple(
        tasks.items[place]
        for place in sorted(found.keys() | codes.keys())
        if any(
            finding not in usual and not any(other.knows(finding) for other in free)
            for finding in (*found.get(place, ()), *codes.get(place, ()))
        )
    )


@dataclass(frozen=True, eq=False)
class _Same:
    """A training set by identity: comparing its texts would cost as much as reading them."""

    train: tuple[Item, ...]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.train is other.train

    def __hash__(self) -> int:
        return id(self.train)


@lru_cache(maxsize=_KEPT_SETS)
def _tasks(same: _Same) -> _Tasks:
    return _Tasks.of(same.train)


def _answers(item: Item) -> Iterator[str]:
    """Give the answers of a task that are long enough to be its own."""
    for words in map(_words, expected_answers(item.judge)):
        joined = " ".join(words)
        coded = len(joined) >= LONG_CODE and _HAS_DIGIT.search(joined) is not None
        if coded or len(joined) >= LONG_ANSWER or len(words) >= ANSWER_WORDS:
            yield joined


def _common(findings: Iterable[set[str] | frozenset[str]], most: int) -> set[str]:
    """Give what more than so many items share, and at least two: it is nobody's own."""
    counted = Counter(finding for found in findings for finding in found)
    return {finding for finding, items in counted.items() if items > max(most, 1)}


def _literal_texts(train: Sequence[Item]) -> Iterator[str]:
    for item in train:
        if isinstance(item.judge, RuleJudge):
            yield from (check.arg for check in item.judge.checks if isinstance(check.arg, str))


def _in_words(literals: Sequence[str]) -> tuple[str, ...]:
    long = [words for words in map(_words, literals) if len(words) >= _LITERAL_WORDS]
    return tuple(" ".join(words) for words in sorted(long, key=len, reverse=True))


def _between(words: str, literals: Sequence[str]) -> list[str]:
    """Cut a text apart where a literal stands, which is left out."""
    pieces = [words]
    for literal in literals:
        marked = f" {literal} "
        if marked in words:
            pieces = [f" {part} " for piece in pieces for part in piece.split(marked)]
    return pieces


def _codes(text: str) -> Iterator[str]:
    """Give numbers, dates and names with digits that are long enough to be a task's own."""
    for token in text.casefold().split():
        code = token.strip(_PUNCTUATION)
        if len(code) >= LONG_CODE and _HAS_DIGIT.search(code):
            yield code


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str]) -> list[str]:
    return [
        " ".join(words[start : start + RUN_OF_WORDS])
        for start in range(len(words) - RUN_OF_WORDS + 1)
    ]

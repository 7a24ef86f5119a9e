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

from skillopt.domain.item import ExactJudge, Item, RuleJudge
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
#: Texts of tasks whose words are kept: a decision is taken often, its tasks stay the same.
_KEPT_TEXTS = 4_096

_WORD = re.compile(r"\w+")
_HAS_DIGIT = re.compile(r"\d")
_PUNCTUATION = "\"'`.,;:!?()[]{}<>*_#“”\u2018\u2019"


@dataclass(frozen=True)
class _Text:
    """A text as the guard compares it: its words, its runs of words (hashed) and its codes."""

    words: str
    runs: frozenset[int]
    codes: frozenset[str]

    def says(self, words: str) -> bool:
        return f" {words} " in self.words


def copied_from(text: str, plan: RunPlan, *, besides: str = "") -> tuple[str, ...]:
    """Name the train items whose own text `text` repeats and `besides` does not.

    Only the item's task, its context and the answer its judge expects are its own.
    """
    train = plan.splits.train
    free = _free_texts(plan, besides)
    written = _text(text)
    pieces = _between(written.words, _literals(train))
    runs = {hash(run): run for piece in pieces for run in _runs(piece.split())}
    codes = {item.id: set(_told_codes(item, written)) for item in train}
    found = {item.id: {*_shared_runs(item, runs), *_told_answers(item, written)} for item in train}
    usual = _common(found.values(), len(train) // 2) | _common(codes.values(), RARE_CODE_ITEMS)
    return tuple(
        item.id
        for item in train
        if any(
            finding not in usual and not any(_known(finding, other) for other in free)
            for finding in found[item.id] | codes[item.id]
        )
    )


def _own_texts(item: Item) -> tuple[_Text, _Text]:
    return _text(item.prompt.task), _text(item.prompt.context)


def _shared_runs(item: Item, wanted: dict[int, str]) -> Iterator[str]:
    for own in _own_texts(item):
        for hashed in wanted.keys() & own.runs if wanted else ():
            if own.says(wanted[hashed]):  # equal hashes alone prove nothing
                yield wanted[hashed]


def _told_codes(item: Item, written: _Text) -> Iterator[str]:
    """Give numbers, dates and names with digits that are long enough to be the task's own."""
    if written.codes:
        for own in _own_texts(item):
            yield from own.codes & written.codes


def _told_answers(item: Item, written: _Text) -> Iterator[str]:
    if not isinstance(item.judge, ExactJudge):
        return
    answer = item.judge.answer
    for words in map(_words, (answer,) if isinstance(answer, str) else answer):
        joined = " ".join(words)
        coded = len(joined) >= LONG_CODE and _HAS_DIGIT.search(joined) is not None
        long = len(joined) >= LONG_ANSWER or len(words) >= ANSWER_WORDS
        if (long or coded) and written.says(joined):
            yield joined


def _common(findings: Iterable[set[str]], most: int) -> set[str]:
    """Give what more than so many items share, and at least two: it is nobody's own."""
    counted = Counter(finding for found in findings for finding in found)
    return {finding for finding, items in counted.items() if items > max(most, 1)}


def _free_texts(plan: RunPlan, besides: str) -> list[_Text]:
    systems = dict.fromkeys(item.prompt.system for item in plan.splits.train)
    literals = dict.fromkeys(_literal_texts(plan.splits.train))
    texts = (besides, plan.settings.preferences, *systems, *literals)
    return [_text(text) for text in texts if text.strip()]


def _literal_texts(train: Sequence[Item]) -> Iterator[str]:
    for item in train:
        if isinstance(item.judge, RuleJudge):
            yield from (check.arg for check in item.judge.checks if isinstance(check.arg, str))


def _literals(train: Sequence[Item]) -> list[str]:
    """Give every text that a rule judge looks for, in words, the longest first."""
    found = [_words(text) for text in dict.fromkeys(_literal_texts(train))]
    long = [words for words in found if len(words) >= _LITERAL_WORDS]
    return [" ".join(words) for words in sorted(long, key=len, reverse=True)]


def _between(words: str, literals: Sequence[str]) -> list[str]:
    """Cut a text apart where a literal stands, which is left out."""
    pieces = [words]
    for literal in literals:
        marked = f" {literal} "
        if marked in words:
            pieces = [f" {part} " for piece in pieces for part in piece.split(marked)]
    return pieces


def _known(finding: str, other: _Text) -> bool:
    return finding in other.codes or other.says(finding)


@lru_cache(maxsize=_KEPT_TEXTS)
def _text(text: str) -> _Text:
    words = _words(text)
    codes = (token.strip(_PUNCTUATION) for token in text.casefold().split())
    return _Text(
        words=f" {' '.join(words)} ",
        runs=frozenset(map(hash, _runs(words))),
        codes=frozenset(
            code for code in codes if len(code) >= LONG_CODE and _HAS_DIGIT.search(code)
        ),
    )


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _runs(words: Sequence[str]) -> list[str]:
    return [
        " ".join(words[start : start + RUN_OF_WORDS])
        for start in range(len(words) - RUN_OF_WORDS + 1)
    ]

"""Making an answer as long as it must be: plain sentences come and go, required parts stay."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from skillopt.simulator.layout import Layout
from skillopt.simulator.rules import AtLeast, AtMost, Unit

_MOST_SENTENCES = 1_000


@dataclass
class Fitting:
    layout: Layout
    body: list[str]
    more: Iterator[str]
    at_most: Sequence[AtMost]
    at_least: Sequence[AtLeast]

    def fit(self) -> str:
        """Grow to the lower limits, then shrink to the upper ones, which win."""
        while self._is_short() and len(self.body) < _MOST_SENTENCES:
            self.body.append(next(self.more))
        while self._is_long() and self.body:
            self.body.pop()
        if self._is_long():
            self.layout.under_headings = False
        if self._is_short() or not self._text().strip():
            self._squeeze_in(next(self.more))
        return self._text()

    def _squeeze_in(self, sentence: str) -> None:
        """Add as much of a sentence as there is room for: whole words, or letters if need be."""
        words = sentence.split()
        for pieces in (words, list(sentence)):
            joint = " " if pieces is words else ""
            for count in range(len(pieces), 0, -1):
                self.body.append(joint.join(pieces[:count]))
                if not self._is_long() and not self._is_short():
                    return
                self.body.pop()
        self._add_longest_that_fits(words)

    def _add_longest_that_fits(self, words: list[str]) -> None:
        for count in range(len(words), 0, -1):
            self.body.append(" ".join(words[:count]))
            if not self._is_long():
                return
            self.body.pop()

    def _text(self) -> str:
        return self.layout.render(self.body)

    def _is_long(self) -> bool:
        text = self._text()
        return any(measure(text, limit.unit) > limit.number for limit in self.at_most)

    def _is_short(self) -> bool:
        text = self._text()
        return any(measure(text, limit.unit) < limit.number for limit in self.at_least)


def measure(text: str, unit: Unit) -> int:
    """Measure a text in characters, words, sentences or lines that are not blank."""
    if unit == "words":
        return len(text.split())
    if unit == "sentences":
        return len(re.findall(r"[.!?](?=\s|$)", text))
    if unit == "lines":
        return sum(1 for line in text.splitlines() if line.strip())
    return len(text)

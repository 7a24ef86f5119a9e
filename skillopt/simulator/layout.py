"""The parts that an answer must have, in an order that makes every placing rule hold."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from skillopt.simulator.pattern import Example, example, holds
from skillopt.simulator.rules import (
    EndsWith,
    ListOf,
    Matches,
    Required,
    Rule,
    Section,
    StartsWith,
    Tagged,
)

_LABEL_VALUES = ("moderate", "settled", "open", "fair")
_ITEM_TEXTS = (
    "what is known so far",
    "what speaks for it",
    "what speaks against it",
    "what remains to be seen",
)
_SECTION_TEXT = "This part deserves a closer look before anything is settled."


@dataclass
class Layout:
    """Fixed parts; the body of plain sentences goes between `head` and `middle`."""

    head: list[str] = field(default_factory=list)
    middle: list[str] = field(default_factory=list)
    last: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    #: What stands under a heading; the first thing to go when room is short.
    under_headings: bool = True
    #: Patterns anchored at both ends, and the one text that may have to be the whole answer.
    only_alone: dict[str, str] = field(default_factory=dict)

    @property
    def fixed_text(self) -> str:
        return "\n".join([*self.head, *self.middle, *self.last, *self.tail])

    def render(self, body: Sequence[str]) -> str:
        parts = [*self.head]
        if body:
            parts.append(" ".join(body))
        for part in [*self.middle, *self.last]:
            is_heading = re.match(r"#{1,6} ", part) is not None
            with_text = is_heading and self.under_headings and part not in self.tail
            parts.append(f"{part}\n\n{_SECTION_TEXT}" if with_text else part)
        return "\n\n".join([*parts, *self.tail])


def scrub(text: str, banned: Sequence[str]) -> str:
    """Take banned texts out, whatever their case."""
    for ban in banned:
        if ban and ban.lower() in text.lower():
            text = re.sub(r"  +", " ", re.sub(re.escape(ban), "", text, flags=re.IGNORECASE))
    return text


def lay_out(
    rules: Sequence[Rule], banned: Sequence[str], result: str, rng: random.Random
) -> Layout:
    """Place every part the rules ask for; a part that holds a banned text is left out."""
    layout = Layout()
    for rule in rules:
        if isinstance(rule, StartsWith | EndsWith):
            _place_edge(rule, layout)
    for rule in rules:
        _place(rule, layout, result, rng)
    for rule in rules:
        if isinstance(rule, Matches):
            _place_pattern(rule, layout)
    for parts in (layout.head, layout.middle, layout.last, layout.tail):
        parts[:] = [part for part in parts if scrub(part, banned) == part]
    layout.under_headings = scrub(_SECTION_TEXT, banned) == _SECTION_TEXT
    return layout


def _place_edge(rule: StartsWith | EndsWith, layout: Layout) -> None:
    edge = layout.head if isinstance(rule, StartsWith) else layout.tail
    if edge:
        layout.middle.append(rule.text)
    else:
        edge.append(rule.text)


def _place(rule: Rule, layout: Layout, result: str, rng: random.Random) -> None:
    if isinstance(rule, Section):
        if rule.heading not in layout.fixed_text.splitlines():
            (layout.last if rule.last else layout.middle).append(rule.heading)
    elif isinstance(rule, Required):
        if rule.text not in layout.fixed_text:
            (layout.last if rule.last else layout.middle).append(_line(rule.text, rng))
    elif isinstance(rule, Tagged):
        layout.middle.append(f"<{rule.tag}>{result}</{rule.tag}>")
    elif isinstance(rule, ListOf):
        items = [_ITEM_TEXTS[number % len(_ITEM_TEXTS)] for number in range(rule.count)]
        signs = [f"{n}." if rule.numbered else "-" for n in range(1, rule.count + 1)]
        layout.middle.append(
            "\n".join(f"{sign} {item}" for sign, item in zip(signs, items, strict=True))
        )


def _place_pattern(rule: Matches, layout: Layout) -> None:
    if holds(rule.pattern, layout.fixed_text):
        return
    found = example(rule.pattern)
    if found is None:
        return
    if found.at_start and found.at_end:
        layout.only_alone[rule.pattern] = found.text
    _place_example(found, layout)


def _place_example(found: Example, layout: Layout) -> None:
    if found.at_end and not layout.tail:
        layout.tail.append(found.text)
    elif found.at_start and not layout.head:
        layout.head.append(found.text)
    else:
        layout.middle.append(found.text)


def _line(text: str, rng: random.Random) -> str:
    return f"{text} {rng.choice(_LABEL_VALUES)}" if text.endswith(":") else text

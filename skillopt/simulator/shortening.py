"""Making a document shorter: repetition goes first, then remarks, then rules."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from skillopt.simulator.document_lines import is_kept
from skillopt.simulator.extraction import extract
from skillopt.simulator.rules import Required, Rule, Section
from skillopt.simulator.wordings_of_edits import VAGUE

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_MARKED = re.compile(r"^\s*(?:#{1,6}\s|[-*+]\s|\d{1,6}[.)]\s|\||<!--)")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_VAGUE = frozenset(text.removeprefix("- ").casefold() for text in VAGUE)


class Worth(IntEnum):
    """How soon a part may go; the lowest goes first."""

    REPEATED = 0
    VAGUE = 1
    REMARK = 2
    HEADING = 3
    RULE = 4
    #: A rule about a text to be taken over word for word.
    LITERAL = 5
    KEPT = 6


@dataclass(frozen=True)
class _Part:
    """A line, or one sentence of a paragraph; `joint` is what stands before line or paragraph."""

    text: str
    joint: str
    #: Number of the line or paragraph.
    block: int
    worth: Worth

    @property
    def size(self) -> int:
        """The characters it takes at most; a sentence after another is joined by one blank."""
        return max(1, len(self.joint)) + len(self.text)


def shortened(text: str, limit: int, *, rules_first: bool = False) -> str:
    """Give a text of at most `limit` characters, if what must stay leaves room for that.

    Repetition always goes. `rules_first` gives up rules before anything else.
    """
    parts = [part for part in _parts(text) if part.worth is not Worth.REPEATED]
    whole = _joined(parts)
    if len(whole) <= limit:
        return whole
    excess = sum(part.size for part in parts) + 1 - limit
    order = sorted(
        (index for index, part in enumerate(parts) if part.worth is not Worth.KEPT),
        key=lambda index: (_turn(parts[index].worth, rules_first=rules_first), -index),
    )
    gone: set[int] = set()
    for index in order:
        if excess <= 0:
            break
        gone.add(index)
        excess -= parts[index].size
    return _joined([part for index, part in enumerate(parts) if index not in gone])


def _joined(parts: Sequence[_Part]) -> str:
    written: list[str] = []
    block = -1
    for part in parts:
        written += [part.joint if part.block != block else " ", part.text]
        block = part.block
    return "".join(written).strip("\n ") + "\n"


def _turn(worth: Worth, *, rules_first: bool) -> int:
    return -worth if rules_first and worth >= Worth.RULE else worth


def _parts(text: str) -> Iterator[_Part]:
    seen: set[str] = set()
    stated: set[Rule] = set()
    for block, joint, part in _pieces(text):
        words = " ".join(part.casefold().removeprefix("- ").split())
        rules = () if is_kept(part) else extract(part)
        worth = _worth(part, words, rules)
        repeats = words in seen or (bool(rules) and set(rules) <= stated)
        if repeats and worth is not Worth.KEPT and worth is not Worth.HEADING:
            worth = Worth.REPEATED
        seen.add(words)
        stated.update(rules)
        yield _Part(part, joint, block, worth)


def _worth(part: str, words: str, rules: tuple[Rule, ...]) -> Worth:
    if is_kept(part):
        return Worth.KEPT
    if re.match(r"\s*#{1,6}\s", part):
        return Worth.HEADING
    if words in _VAGUE:
        return Worth.VAGUE
    if not rules:
        return Worth.REMARK
    literal = any(isinstance(rule, Required | Section) for rule in rules)
    return Worth.LITERAL if literal else Worth.RULE


def _pieces(text: str) -> Iterator[tuple[int, str, str]]:
    """Split a text into lines, fenced blocks and the sentences of paragraphs, each with its
    number and what stands before it.
    """
    joint = ""
    for number, (block, is_prose) in enumerate(_blocks(text)):
        if not block.strip():
            joint += "\n"
            continue
        for sentence in _SENTENCE_END.split(block) if is_prose else [block]:
            yield number, joint, sentence
        joint = "\n"


def _blocks(text: str) -> Iterator[tuple[str, bool]]:
    """Give paragraphs (True), other lines and whole fenced blocks (False)."""
    held: list[str] = []
    fence = ""
    for line in text.split("\n"):
        fenced = _FENCE.match(line)
        if fence:
            held.append(line)
            if fenced and fenced.group(1).startswith(fence):
                yield "\n".join(held), False
                held, fence = [], ""
            continue
        if held and (fenced or not line.strip() or _MARKED.match(line)):
            yield "\n".join(held), True
            held = []
        if fenced:
            held, fence = [line], fenced.group(1)
        elif not line.strip() or _MARKED.match(line):
            yield line, False
        else:
            held.append(line)
    if held:
        yield "\n".join(held), not fence

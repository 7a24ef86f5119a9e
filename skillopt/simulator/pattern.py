"""A string that matches a regular expression, made from the expression's parse tree."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import regex

from skillopt.judges.arguments import MAX_PATTERN_SIZE
from skillopt.judges.pattern_size import written_out

_ALPHABET = string.ascii_letters + string.digits + " .,:;-_=/()[]{}#*+!?%&@$'\"<>|~^\\`\n\t"
_MATCH_TIMEOUT_S = 0.5
#: Counted repeats multiply; no answer is worth more parts of a pattern than this.
_MAX_PARTS = 50_000


@dataclass(frozen=True)
class _Style:
    """One way of writing: repeats beyond the minimum, any-character, lookaheads spelt out."""

    extra: int
    any_character: str
    spell_out_lookaheads: bool = False


#: The shortest string often, but not always, matches; the others are tried after it.
_STYLES = (
    _Style(0, "a"),
    _Style(0, "a", spell_out_lookaheads=True),
    _Style(1, " "),
    _Style(1, "a"),
)


class UnsupportedError(Exception):
    """The expression uses something that the generator does not know."""


@dataclass(frozen=True)
class Example:
    text: str
    #: The expression holds only at the very start, or end, of the answer.
    at_start: bool
    at_end: bool


@dataclass
class _Writer:
    style: _Style
    flags: int
    groups: dict[int, str] = field(default_factory=dict)
    anchors: set[str] = field(default_factory=set)
    parts: int = 0


def example(pattern: str) -> Example | None:
    """Give the simplest string found that matches `pattern`; None if there is none."""
    try:
        tree = parser.parse(pattern)
    except (re.error, OverflowError, RecursionError):
        return None
    for style in _STYLES:
        writer = _Writer(style, tree.state.flags)
        try:
            text = _write(tree, writer)
        except UnsupportedError:
            return None
        if holds(pattern, text):
            return Example(text, "start" in writer.anchors, "end" in writer.anchors)
    return None


def holds(pattern: str, text: str) -> bool:
    """Whether the text matches; an expression that takes too long or too much does not."""
    if written_out(pattern) > MAX_PATTERN_SIZE:
        return False
    try:
        return regex.search(pattern, text, timeout=_MATCH_TIMEOUT_S) is not None
    except (TimeoutError, regex.error):
        return False


def _write(nodes: Iterable[tuple[Any, Any]], writer: _Writer) -> str:
    text = ""
    for op, argument in nodes:
        writer.parts += 1
        if writer.parts > _MAX_PARTS:
            raise UnsupportedError("it would be written too long")
        text += _HANDLERS.get(op, _unsupported)(argument, writer)
    return text


def _unsupported(argument: object, writer: _Writer) -> str:
    raise UnsupportedError(repr(argument))


def _literal(argument: int, writer: _Writer) -> str:
    return chr(argument)


def _not_literal(argument: int, writer: _Writer) -> str:
    return _pick(lambda char: ord(char) != argument)


def _any(argument: object, writer: _Writer) -> str:
    return writer.style.any_character


def _one_of(argument: list[tuple[Any, Any]], writer: _Writer) -> str:
    negated = argument[0][0] is sre.NEGATE
    members = argument[1:] if negated else argument
    if not negated:
        first, value = members[0]
        if first is sre.LITERAL:
            return chr(value)
        if first is sre.RANGE:
            return chr(value[0])
    return _pick(lambda char: any(_is_member(char, m) for m in members) is not negated)


def _is_member(char: str, member: tuple[Any, Any]) -> bool:
    op, value = member
    if op is sre.LITERAL:
        return bool(ord(char) == value)
    if op is sre.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if op is sre.CATEGORY:
        return bool(_CATEGORIES[value](char))
    raise UnsupportedError(str(op))


def _pick(accepts: Callable[[str], bool]) -> str:
    for char in _ALPHABET:
        if accepts(char):
            return char
    raise UnsupportedError("no plain character fits")


def _category(argument: object, writer: _Writer) -> str:
    return _pick(_CATEGORIES[argument])


def _repeat(argument: tuple[int, int, Any], writer: _Writer) -> str:
    low, high, nodes = argument
    return "".join(_write(nodes, writer) for _ in range(min(low + writer.style.extra, high)))


def _group(argument: tuple[int | None, int, int, Any], writer: _Writer) -> str:
    number, _, _, nodes = argument
    text = _write(nodes, writer)
    if number is not None:
        writer.groups[number] = text
    return text


def _branch(argument: tuple[None, list[Any]], writer: _Writer) -> str:
    return _write(argument[1][0], writer)


def _reference(argument: int, writer: _Writer) -> str:
    return writer.groups.get(argument, "")


def _lookaround(argument: tuple[int, Any], writer: _Writer) -> str:
    # Without its text, the rest may satisfy it all the same: that is seen when it is tried.
    direction, nodes = argument
    ahead = writer.style.spell_out_lookaheads and direction > 0
    return _write(nodes, writer) if ahead else ""


def _nothing(argument: object, writer: _Writer) -> str:
    return ""


def _anchor(argument: object, writer: _Writer) -> str:
    per_line = bool(writer.flags & sre.SRE_FLAG_MULTILINE)
    if argument is sre.AT_BEGINNING_STRING or (argument is sre.AT_BEGINNING and not per_line):
        writer.anchors.add("start")
    if argument is sre.AT_END_STRING or (argument is sre.AT_END and not per_line):
        writer.anchors.add("end")
    return ""


def _word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[object, Callable[[str], bool]] = {
    sre.CATEGORY_DIGIT: str.isdigit,
    sre.CATEGORY_NOT_DIGIT: lambda char: not char.isdigit(),
    sre.CATEGORY_SPACE: str.isspace,
    sre.CATEGORY_NOT_SPACE: lambda char: not char.isspace(),
    sre.CATEGORY_WORD: _word,
    sre.CATEGORY_NOT_WORD: lambda char: not _word(char),
}

_HANDLERS: dict[object, Callable[[Any, _Writer], str]] = {
    sre.LITERAL: _literal,
    sre.NOT_LITERAL: _not_literal,
    sre.ANY: _any,
    sre.IN: _one_of,
    sre.CATEGORY: _category,
    sre.MAX_REPEAT: _repeat,
    sre.MIN_REPEAT: _repeat,
    sre.POSSESSIVE_REPEAT: _repeat,
    sre.SUBPATTERN: _group,
    sre.ATOMIC_GROUP: _write,
    sre.BRANCH: _branch,
    sre.GROUPREF: _reference,
    sre.ASSERT: _lookaround,
    sre.ASSERT_NOT: _nothing,
    sre.AT: _anchor,
}

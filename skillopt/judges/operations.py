"""The operations of the rule judge: what each one requires in words, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import regex

from skillopt.domain.results import ReplyBody
from skillopt.judges.arguments import (
    Argument,
    CountArgument,
    NoArgument,
    PatternArgument,
    TextArgument,
)
from skillopt.judges.headings import headings, labels, section_name
from skillopt.judges.refusal import refusal_opening

#: Patterns come from task files; one that backtracks for ever must not stop a worker.
REGEX_TIMEOUT_S = 1.0
_SHOWN_NAMES = 8
_SHOWN_CHARS = 80


@dataclass(frozen=True)
class Finding:
    """Whether a check holds, and what was seen."""

    passed: bool
    detail: str


@dataclass(frozen=True)
class Operation:
    """`requirement` has one slot for the argument; analysts read it word for word."""

    argument: Argument
    requirement: str
    find: Callable[[str, ReplyBody], Finding]


def _at_most(argument: str, reply: ReplyBody) -> Finding:
    return Finding(len(reply.text) <= int(argument), _length(reply.text))


def _at_least(argument: str, reply: ReplyBody) -> Finding:
    return Finding(len(reply.text) >= int(argument), _length(reply.text))


def _length(text: str) -> str:
    return f"it has {len(text)} characters"


def _contains(argument: str, reply: ReplyBody) -> Finding:
    found = argument.casefold() in reply.text.casefold()
    return Finding(found, "it contains it" if found else "it does not contain it")


def _lacks(argument: str, reply: ReplyBody) -> Finding:
    found = argument.casefold() in reply.text.casefold()
    return Finding(not found, "it contains it" if found else "it does not contain it")


def _matches(argument: str, reply: ReplyBody) -> Finding:
    """Search, case-sensitive; raises TimeoutError."""
    match = regex.search(argument, reply.text, timeout=REGEX_TIMEOUT_S)
    if match is None:
        return Finding(False, "nothing in it matches")
    return Finding(True, f"it matches with {_cut(match.group())!r}")


def _has_section(argument: str, reply: ReplyBody) -> Finding:
    name = section_name(argument).casefold()
    found = (
        any(heading.casefold().endswith(name) for heading in headings(reply.text))
        or any(name in label.casefold() for label in labels(reply.text))
        or any(_starts_with_label(line, name) for line in reply.text.splitlines())
    )
    if found:
        return Finding(True, "it has that section")
    return Finding(False, _sections_seen(headings(reply.text) + labels(reply.text)))


def _starts_with_label(line: str, name: str) -> bool:
    folded = line.strip().casefold()
    return folded.startswith(name) and folded.removeprefix(name).lstrip().startswith(":")


def _heading_contains(argument: str, reply: ReplyBody) -> Finding:
    name = section_name(argument).casefold()
    seen = headings(reply.text)
    return Finding(any(name in heading.casefold() for heading in seen), _sections_seen(seen))


def _sections_seen(names: list[str]) -> str:
    if not names:
        return "it has no headings"
    shown = ", ".join(f'"{_cut(name)}"' for name in names[:_SHOWN_NAMES])
    more = len(names) - _SHOWN_NAMES
    return f"its headings are {shown}" + (f" and {more} more" if more > 0 else "")


def _does_the_task(_: str, reply: ReplyBody) -> Finding:
    opening = refusal_opening(reply.text)
    if opening is None:
        return Finding(True, "it is not a refusal")
    return Finding(False, f'it opens with "{opening}"')


def _tool_called(argument: str, reply: ReplyBody) -> Finding:
    """Only calls that were observed count: a text that claims one proves nothing."""
    called = {name.casefold() for name in reply.tools_called}
    seen = ", ".join(_cut(name) for name in dict.fromkeys(reply.tools_called))
    return Finding(
        argument.strip().casefold() in called,
        f"tools called: {seen}" if seen else "no tool was called",
    )


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else text[: _SHOWN_CHARS - 1] + "…"


OPERATIONS: Mapping[str, Operation] = MappingProxyType(
    {
        "max_chars": Operation(
            CountArgument(), "the answer is at most {} characters long", _at_most
        ),
        "min_chars": Operation(
            CountArgument(), "the answer is at least {} characters long", _at_least
        ),
        "contains": Operation(TextArgument(), 'the answer contains "{}"', _contains),
        "not_contains": Operation(TextArgument(), 'the answer does not contain "{}"', _lacks),
        "regex": Operation(
            PatternArgument(), "the answer matches the regular expression /{}/", _matches
        ),
        "section_present": Operation(
            TextArgument(), 'the answer has a section headed "{}"', _has_section
        ),
        "section_contains": Operation(
            TextArgument(), 'a heading of the answer contains "{}"', _heading_contains
        ),
        "no_refusal": Operation(
            NoArgument(), "the answer does the task instead of refusing it", _does_the_task
        ),
        "tool_called": Operation(TextArgument(), 'the tool "{}" is called', _tool_called),
    }
)

"""The format rules that a text can state, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["characters", "words", "sentences", "lines"]


@dataclass(frozen=True)
class Required:
    """The text occurs in the answer, on the last line if `last`."""

    text: str
    last: bool = False


@dataclass(frozen=True)
class Section:
    """The answer has a heading; `last` puts its section at the end."""

    title: str
    level: int = 2
    last: bool = False

    @property
    def heading(self) -> str:
        return f"{'#' * self.level} {self.title}"


@dataclass(frozen=True)
class Forbidden:
    """The text does not occur in the answer, whatever its case."""

    text: str


@dataclass(frozen=True)
class AtMost:
    number: int
    unit: Unit = "characters"


@dataclass(frozen=True)
class AtLeast:
    number: int
    unit: Unit = "characters"


@dataclass(frozen=True)
class StartsWith:
    text: str


@dataclass(frozen=True)
class EndsWith:
    text: str


@dataclass(frozen=True)
class Tagged:
    """The result stands between `<tag>` and `</tag>`."""

    tag: str


@dataclass(frozen=True)
class ListOf:
    """The answer has a list of `count` items."""

    count: int
    numbered: bool = False


@dataclass(frozen=True)
class Matches:
    """The answer matches a regular expression."""

    pattern: str


@dataclass(frozen=True)
class JsonObject:
    """The answer is one JSON object with these keys."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Whole:
    """The answer is this text and nothing else."""

    text: str


@dataclass(frozen=True)
class AnswerAlone:
    """The answer is the result itself, without a sentence around it."""


@dataclass(frozen=True)
class CallTool:
    name: str


@dataclass(frozen=True)
class ForbidTool:
    name: str


@dataclass(frozen=True)
class Refuse:
    """The task is to be declined."""


@dataclass(frozen=True)
class DoTask:
    """The task is never to be declined."""


@dataclass(frozen=True)
class Thorough:
    """The answer is to be long and detailed."""


Rule = (
    Required
    | Section
    | Forbidden
    | AtMost
    | AtLeast
    | StartsWith
    | EndsWith
    | Tagged
    | ListOf
    | Matches
    | JsonObject
    | Whole
    | AnswerAlone
    | CallTool
    | ForbidTool
    | Refuse
    | DoTask
    | Thorough
)

"""What a run did, read from its events: numbered steps, the answer, what it took."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from skillopt.domain.usage import Usage

#: Longer texts of one step are kept without their middle.
STEP_LIMIT = 4_000
_CUT = "\n[… cut …]\n"


@dataclass(frozen=True)
class Step:
    """One thing an agent did: it said something, or used one of the program's tools."""

    number: int
    kind: Literal["said", "tool"]
    text: str
    tool: str = ""
    result: str = ""
    failed: bool = False

    def rendered(self) -> str:
        if self.kind == "said":
            return f"Step {self.number}: says\n{self.text}"
        outcome = "failed with" if self.failed else "gives"
        return f"Step {self.number}: uses {self.tool}\n{self.text}\n{outcome}\n{self.result}"


@dataclass(frozen=True)
class Failure:
    """A terminal error that the program reported: no answer came."""

    message: str
    status: int | None = None
    #: The program's own word for the class of error, if it has one.
    kind: str = ""


@dataclass(frozen=True)
class Trace:
    """The events of a run, in the project's terms."""

    steps: tuple[Step, ...] = ()
    #: None if no answer came, which is not the same as an empty one.
    answer: str | None = None
    usage: Usage = field(default_factory=lambda: Usage(estimated=True))
    finish_reason: str = "stop"
    failure: Failure | None = None
    #: What was printed beside events: where programs complain before they can report.
    stray: str = ""


class Steps:
    """Collects steps and numbers them; a tool's result joins its call."""

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._open: dict[str, int] = {}

    def say(self, text: str) -> None:
        if text.strip():
            self._steps.append(Step(len(self._steps) + 1, "said", shortened(text)))

    def call(self, key: str, tool: str, arguments: object) -> None:
        text = arguments if isinstance(arguments, str) else json.dumps(arguments, sort_keys=True)
        self._open[key] = len(self._steps)
        self._steps.append(Step(len(self._steps) + 1, "tool", shortened(text), tool))

    def result(self, key: str, text: str, *, failed: bool) -> None:
        """A result without its call is left out: the call was cut from the middle."""
        at = self._open.pop(key, None)
        if at is not None:
            step = self._steps[at]
            self._steps[at] = Step(
                step.number, "tool", step.text, step.tool, shortened(text), failed
            )

    def done(self) -> tuple[Step, ...]:
        return tuple(self._steps)


def events(stdout: str) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """Each line as an event, or None beside the line itself if it is none."""
    for line in stdout.splitlines():
        if not line.strip():
            continue
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            yield None, line
            continue
        yield (event, line) if isinstance(event, dict) else (None, line)


def part(event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A mapping inside an event; programs of another version may lack it."""
    value = event.get(key)
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """The text of a value that is a text, parts with texts, or anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        texts = [text_of(entry.get("text")) for entry in value if isinstance(entry, dict)]
        return "\n".join(text for text in texts if text)
    return json.dumps(value, sort_keys=True)


def count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def shortened(text: str, limit: int = STEP_LIMIT) -> str:
    half = limit // 2
    return text if len(text) <= limit else f"{text[:half]}{_CUT}{text[-half:]}"

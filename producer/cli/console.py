"""Where output goes: results to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.text import Text

from producer.view.printable import safe

#: Width of tables that go to a file or a pipe.
_PIPED_WIDTH = 120


@dataclass(frozen=True)
class Terminal:
    """The two streams of one command, and how much the person wants to see."""

    out: Console
    err: Console
    json: bool = False
    quiet: bool = False

    @classmethod
    def open(cls, *, json: bool = False, quiet: bool = False) -> Self:
        return cls(_console(stderr=False), _console(stderr=True), json, quiet)

    @property
    def live(self) -> bool:
        """Whether a live view makes sense: a person watches both streams and wants it."""
        return not self.quiet and self.err.is_terminal and (self.json or self.out.is_terminal)

    def show(self, *parts: RenderableType) -> None:
        """Show a result to a person; with --json a result is an object instead."""
        if not self.json:
            for part in parts:
                # A pipe gets paths and ids whole; only a screen has an edge to wrap at.
                whole = isinstance(part, Text) and not self.out.is_terminal
                self.out.print(part, soft_wrap=whole)

    def warn(self, message: str) -> None:
        self.err.print(safe(f"warning: {message}", "yellow"), soft_wrap=True)

    def emit(self, value: Mapping[str, Any]) -> None:
        """Print the one object of --json; do nothing without it."""
        if self.json:
            print_json(value)


def print_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object and a line end; non-ASCII is escaped, so every stream can take it."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")
    sys.stdout.flush()


def _console(*, stderr: bool) -> Console:
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    return console

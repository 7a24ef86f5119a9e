"""Where a value was written, and the collection of everything found wrong with what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from skillopt.errors import InputError

#: The keys and list positions that lead to a value: ``("train", "batch_size")``.
KeyPath = tuple[str | int, ...]
Result = TypeVar("Result")


@dataclass(frozen=True)
class Origin:
    """A file and line, or an option of the command line."""

    source: str
    line: int | None = None
    #: The folder that relative paths written here start from; the working directory if None.
    folder: Path | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"

    def path(self, written: str) -> Path:
        """Read a path as it was meant where it was written."""
        path = Path(written).expanduser()
        return path if self.folder is None else self.folder / path


COMMAND_LINE = Origin("--set")


def dotted(path: KeyPath) -> str:
    """Show a key path as people write it: ``judge.checks[2].op``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


class Problems:
    """Collects every problem, so that a person can repair all of them in one go."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}
        self._first_kind: type[InputError] | None = None

    def __len__(self) -> int:
        return len(self._lines)

    def add(self, where: Origin | None, text: str) -> None:
        self._lines.setdefault(text if where is None else f"{where}: {text}")

    def attempt(self, step: Callable[[], Result]) -> Result | None:
        """Do a step; what is wrong with its input joins the other problems."""
        try:
            return step()
        except InputError as error:
            for line in str(error).splitlines():
                self.add(None, line)
            self._first_kind = self._first_kind or type(error)
            return None

    def raise_any(self, kind: type[InputError], *, at_most: int | None = None) -> None:
        """Raise all problems as one error, one per line; do nothing if there are none.

        Problems gathered with `attempt` keep the class of the first of their errors. Lines
        beyond `at_most` are only counted.
        """
        if not self._lines:
            return
        shown = list(self._lines)[:at_most]
        if len(self._lines) > len(shown):
            shown.append(f"… and {len(self._lines) - len(shown)} more problems")
        raise (self._first_kind or kind)("\n".join(shown))

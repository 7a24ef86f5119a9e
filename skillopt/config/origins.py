"""Where a value was written, and the collection of everything found wrong with what was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from skillopt.errors import ConfigError, InputError

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
        path = Path(written)
        try:
            path = path.expanduser()
        except RuntimeError:
            raise ConfigError(
                f"{self}: {written!r} begins with a home folder that is not known; write it out"
            ) from None
        return path if self.folder is None else self.folder / path


COMMAND_LINE = Origin("--set")
#: One faulty habit can spoil a whole file; more lines than this help nobody.
MAX_PROBLEMS_SHOWN = 40

#: A value that spoils a file may be megabytes long; its message need not be.
_LONGEST_HEAD, _LONGEST_TAIL = 700, 300


def shortened(text: str) -> str:
    """Leave the middle of a very long text out: where it is and what to do stay readable."""
    if len(text) <= _LONGEST_HEAD + _LONGEST_TAIL:
        return text
    return f"{text[:_LONGEST_HEAD]} … {text[-_LONGEST_TAIL:]}"


def unusable_path(error: OSError) -> str:
    """Say which path cannot even be looked at: too long, or in a folder that is closed to us."""
    return f"{str(error.filename)!r} cannot be used: {error.strerror}; name another path"


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
        self._lines.setdefault(shortened(text if where is None else f"{where}: {text}"))

    def attempt(self, step: Callable[[], Result]) -> Result | None:
        """Do a step; what is wrong with its input joins the other problems."""
        try:
            return step()
        except InputError as error:
            for line in str(error).splitlines():
                self.add(None, line)
            self._first_kind = self._first_kind or type(error)
            return None
        except OSError as error:
            self.add(None, unusable_path(error))
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

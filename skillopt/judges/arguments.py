"""Arguments of checks: how each sort is written, checked and read."""

from __future__ import annotations

from typing import Protocol

import regex

from skillopt.judges.pattern_size import calls_itself, written_out

#: What an expression may grow to; compiling it takes some 300 bytes for each.
MAX_PATTERN_SIZE = 50_000
#: What a person may have written as the argument of a check.
Written = bool | str | int | float | None


class Argument(Protocol):
    """One sort of argument."""

    def problem(self, written: Written) -> str | None:
        """Complete the sentence "<operation> …" with what is wrong; None if nothing is."""
        ...

    def read(self, written: Written) -> str:
        """Give the argument of a check without problem in its one normal form."""
        ...


class NoArgument:
    def problem(self, written: Written) -> str | None:
        return None if written is None else f"takes no argument, but has {written!r}; remove it"

    def read(self, written: Written) -> str:
        return ""


class TextArgument:
    """A text that is not blank; a whole number stands for its digits."""

    def problem(self, written: Written) -> str | None:
        if written is None:
            return "needs an argument; give the text as 'arg'"
        if isinstance(written, bool | float):
            return f"needs a text, not {written!r}; put it in quotes"
        if not str(written).strip():
            return f"needs a text that is not blank, not {written!r}"
        return None

    def read(self, written: Written) -> str:
        return str(written)


class PatternArgument(TextArgument):
    """A regular expression that compiles."""

    def problem(self, written: Written) -> str | None:
        problem = super().problem(written)
        if problem is not None:
            return problem
        if written_out(self.read(written)) > MAX_PATTERN_SIZE:
            return (
                f"cannot use {written!r} as a regular expression: written out, its repeats come "
                f"to more than {MAX_PATTERN_SIZE} characters; use smaller counts"
            )
        if calls_itself(self.read(written)):
            return (
                f"cannot use {written!r} as a regular expression: it calls a group of its own "
                "again, which may take all the memory there is; write the repetition out"
            )
        try:
            regex.compile(self.read(written))
        except regex.error as error:
            return f"cannot use {written!r} as a regular expression: {error}"
        except RecursionError:
            return f"cannot use {written!r} as a regular expression: it is nested too deeply"
        return None


class CountArgument:
    """A number of characters: a whole number from 0, also written as digits in quotes."""

    def problem(self, written: Written) -> str | None:
        if written is None:
            return "needs an argument; give the number of characters as 'arg'"
        if isinstance(written, str):
            digits = written.strip()
            fine = digits.isascii() and digits.isdigit() and len(digits) <= 18
        else:
            fine = type(written) is int and written >= 0
        return None if fine else f"needs a whole number from 0, not {written!r}"

    def read(self, written: Written) -> str:
        return str(int(written or 0))

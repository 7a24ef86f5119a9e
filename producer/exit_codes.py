"""How a command ended, for scripts."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    FINISHED = 0
    BAD_INPUT = 2
    #: A budget is used up; the same command continues with a larger one.
    BUDGET = 3
    FAILED = 4
    INTERRUPTED = 130

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


def exit_code_at_rest(status: str, why: str | None) -> ExitCode:
    """Give the exit code for a run that has ended or paused; `why` it paused, if it did.

    A run that is still going on, or was asked to pause or end, was interrupted.
    """
    if status == "finished":
        return ExitCode.FINISHED
    if status != "paused" or why == "requested":
        return ExitCode.INTERRUPTED
    return ExitCode.BUDGET if why == "budget" else ExitCode.FAILED

"""From an error to one message and an exit code."""

from __future__ import annotations

import os
import sys
import traceback

import typer

from producer.exit_codes import ExitCode
from producer.view.printable import printable
from skillopt.errors import BudgetExhausted, InputError, SkillOptError


def exit_code_of(error: BaseException) -> ExitCode:
    match error:
        case KeyboardInterrupt():
            return ExitCode.INTERRUPTED
        case InputError() | typer.TyperException():
            return ExitCode.BAD_INPUT
        case BudgetExhausted():
            return ExitCode.BUDGET
        case _:
            return ExitCode.FAILED


def report(error: BaseException, *, json: bool, debug: bool) -> ExitCode:
    """Tell what went wrong: one message on standard error, or with --json one object.

    With `debug` the traceback follows on standard error.
    """
    code, message = code_of(error), message_of(error)
    if json:
        json = _print_object({"error": {"code": code, "message": message}})
    if not json:
        sys.stderr.write(f"skillopt: {printable(message)}\n")
    if debug:
        sys.stderr.write("".join(traceback.format_exception(error)))
    sys.stderr.flush()
    return exit_code_of(error)


def _print_object(value: dict[str, dict[str, str]]) -> bool:
    """Print the one object of --json; say whether standard output took it."""
    from producer.cli.console import print_json

    try:
        print_json(value)
    except OSError:
        discard_output()  # the interpreter would try once more at exit
        return False
    return True


def discard_output() -> None:
    """Lead what is left for standard output nowhere."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, sys.stdout.fileno())


def code_of(error: BaseException) -> str:
    """Give the word that programs see."""
    match error:
        case SkillOptError():
            return error.code
        case KeyboardInterrupt():
            return "interrupted"
        case typer.TyperException():
            return "usage"
        case _:
            return "internal"


def message_of(error: BaseException) -> str:
    """Give the sentence that people see."""
    match error:
        case KeyboardInterrupt():
            return "interrupted; the same command (without --new) continues where this one stopped"
        case typer.TyperException():
            return _usage_message(error)
        case SkillOptError():
            return str(error)
        case OSError() if error.filename is not None:
            return f"{str(error.filename)!r}: {error.strerror or error}"
        case OSError():
            return f"the operating system refused: {error.strerror or error}"
        case _:
            return (
                f"unexpected {type(error).__name__}: {error}; this is a defect, please report it "
                "with the traceback that SKILLOPT_DEBUG=1 shows"
            )


def _usage_message(error: typer.TyperException) -> str:
    """Name the option, what was given for it, and where its help is."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "skillopt"
    return f"{error.format_message().rstrip()}{_given(error.__cause__)}\nSee `{path} --help`."


def _given(cause: BaseException | None) -> str:
    from pydantic import ValidationError

    if not isinstance(cause, ValidationError):
        return ""
    values = dict.fromkeys(repr(problem["input"]) for problem in cause.errors(include_url=False))
    return f" (given: {', '.join(values)})"

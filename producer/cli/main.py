"""The command `skillopt`: its commands in groups, and what every one of them does on an error.

Nothing heavy is imported here: a command imports what it needs when it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from json import dumps
from typing import Annotated, Any, NoReturn

import typer

from producer.cli import (
    aa,
    backends,
    blame,
    budget,
    cache,
    check,
    coordinator,
    dead,
    demo,
    diff,
    doctor,
    evaluate,
    explain,
    export,
    flower,
    gc,
    init,
    plan,
    quota,
    report,
    restore,
    retune,
    run,
    runs,
    serve,
    show,
    simulate,
    spend,
    status,
    steering,
    submit,
    token,
    up,
    watch,
    worker,
)
from producer.cli.command_group import help_without_command
from producer.cli.environment import OURS, conflict, own_version
from producer.cli.help_text import help_text

START, UNDERSTAND, TEAM, OPERATE = "Start", "Understand", "Team", "Operate"

#: Group, name, command; `--help` lists groups and commands in this order.
COMMANDS: tuple[tuple[str, str, Callable[..., None]], ...] = (
    (START, "demo", demo.demo),
    (START, "init", init.init),
    (START, "run", run.run),
    (UNDERSTAND, "check", check.check),
    (UNDERSTAND, "plan", plan.plan),
    (UNDERSTAND, "aa", aa.aa),
    (UNDERSTAND, "eval", evaluate.evaluate),
    (UNDERSTAND, "show", show.show),
    (UNDERSTAND, "explain", explain.explain),
    (UNDERSTAND, "diff", diff.diff),
    (UNDERSTAND, "blame", blame.blame),
    (UNDERSTAND, "report", report.report),
    (UNDERSTAND, "export", export.export),
    (TEAM, "submit", submit.submit),
    (TEAM, "runs", runs.runs),
    (TEAM, "status", status.status),
    (TEAM, "watch", watch.watch),
    (TEAM, "pause", steering.pause),
    (TEAM, "resume", steering.resume),
    (TEAM, "cancel", steering.cancel),
    (TEAM, "retune", retune.retune),
    (TEAM, "spend", spend.spend),
    (OPERATE, "up", up.up),
    (OPERATE, "worker", worker.worker),
    (OPERATE, "coordinator", coordinator.coordinator),
    (OPERATE, "serve", serve.serve),
    (OPERATE, "flower", flower.flower),
    (OPERATE, "doctor", doctor.doctor),
    (OPERATE, "restore", restore.restore),
    (OPERATE, "gc", gc.gc),
    (OPERATE, "simulate", simulate.simulate),
)
#: Commands that have commands of their own.
GROUPS: tuple[tuple[str, str, typer.Typer], ...] = (
    (TEAM, "quota", quota.app),
    (OPERATE, "backends", backends.app),
    (OPERATE, "budget", budget.app),
    (OPERATE, "cache", cache.app),
    (OPERATE, "dead", dead.app),
    (OPERATE, "token", token.app),
)
#: Settings of single commands beyond their name and group.
_SETTINGS: dict[str, dict[str, Any]] = {"simulate": simulate.PASS_ON}

app = typer.Typer(
    name="skillopt",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _group, _name, _command in COMMANDS:
    app.command(
        _name,
        rich_help_panel=_group,
        help=help_text(_command),
        **_SETTINGS.get(_name, {}),
    )(_command)
for _group, _name, _commands in GROUPS:
    app.add_typer(_commands, name=_name, rich_help_panel=_group)


def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Train a SKILL.md on your own tasks: try, reflect, edit, and keep only what measures better.

    Every command explains itself with --help, and prints one JSON object with --json.

    First steps:
      skillopt demo                  a whole run against a simulated model
      skillopt init my-skill         a spec, a skill and tasks to start from
      skillopt run my-skill/spec.yaml
    """
    if version:
        typer.echo(f"{OURS} {own_version()}")
    else:
        help_without_command(context)


app.callback(invoke_without_command=True, help=help_text(root))(root)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and give its exit code; every error ends as one message."""
    json = "--json" in arguments
    if problem := conflict():
        return _refuse(problem, json=json)
    from producer.cli.errors import report

    debug = os.environ.get("SKILLOPT_DEBUG", "") not in ("", "0")
    _open_missing_streams()
    _tolerate_any_encoding()
    try:
        command = typer.main.get_command(app)
        with command.make_context("skillopt", list(arguments)) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as ending:
        return ending.exit_code
    except BrokenPipeError:
        return _reader_left()
    except SystemExit as ending:
        # Rich ends the process by itself when whoever reads the output has gone.
        if not isinstance(ending.__context__, BrokenPipeError):
            raise
        return _reader_left()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - last chance for a message
        return report(error, json=json, debug=debug)
    return 0


def entry() -> NoReturn:
    """Run the console script."""
    sys.exit(run_command(sys.argv[1:]))


def _refuse(problem: str, *, json: bool) -> int:
    """Say why nothing can start here, with the standard library alone."""
    if json:
        error = {"code": "environment", "message": problem}
        sys.stdout.write(dumps({"error": error}, indent=2) + "\n")
    else:
        sys.stderr.write(f"skillopt: {problem}\n")
    return 2


def _open_missing_streams() -> None:
    """Give a process that was started without standard streams (`>&-`) ones that lead nowhere.

    Otherwise the next file to be opened would take their number, and their output.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - for good
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _tolerate_any_encoding() -> None:
    """Let a terminal that lacks a character show a question mark instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _reader_left() -> int:
    """End quietly when whoever read our output (`| head`) has gone."""
    from producer.cli.errors import discard_output

    discard_output()  # the interpreter flushes it once more at exit
    return 141

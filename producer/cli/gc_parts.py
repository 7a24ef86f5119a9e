"""The parts of `skillopt gc`: saying what would go, asking, removing, saying what went."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import typer

from producer.cli.console import Terminal
from producer.leftovers import Leftover, leftovers, remove_leftover
from producer.retention import (
    KeptFor,
    RemovableRun,
    removable,
    removable_folders,
    remove_folder,
    remove_run,
)
from producer.view.gc_page import Collected, done_page, meant_page
from skillopt.errors import InputError
from skillopt.state.ports import State


def collect(
    terminal: Terminal,
    state: State,
    runs_dir: Path,
    age_s: float,
    *,
    folders: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Remove what is finished and old; without --yes, a person is asked first."""
    runs = removable(state, age_s)
    limit = state.server.now() - age_s
    old_folders = list(removable_folders(runs_dir, limit)) if folders else []
    left = leftovers(datetime.now(UTC).timestamp(), age_s)
    terminal.show(*meant_page(runs, old_folders, left, dry_run=dry_run))
    collected = Collected()
    if (runs or old_folders or left) and not dry_run:
        if yes or _confirmed(terminal, len(runs) + len(old_folders) + len(left)):
            collected = _remove(state, runs_dir, runs, old_folders, left)
        terminal.show(*done_page(collected))
    meant = {
        "runs": [one.model_dump(mode="json") for one in runs],
        "folders": [one.model_dump(mode="json") for one in old_folders],
        "leftovers": [one.model_dump(mode="json") for one in left],
    }
    terminal.emit({"meant": meant, **collected.model_dump(mode="json"), "dry_run": dry_run})


def _remove(
    state: State,
    runs_dir: Path,
    runs: list[RemovableRun],
    folders: list[RemovableRun],
    left: list[Leftover],
) -> Collected:
    answers = [remove_run(state, runs_dir, one) for one in runs]
    answers += [remove_folder(state, runs_dir, one) for one in folders]
    return Collected(
        removed=tuple(one for one in answers if isinstance(one, RemovableRun)),
        kept=tuple(one for one in answers if isinstance(one, KeptFor)),
        leftovers=tuple(one for one in left if remove_leftover(one)),
    )


def _confirmed(terminal: Terminal, count: int) -> bool:
    """Ask a person; raises InputError if there is nobody to ask."""
    if terminal.json or not sys.stdin.isatty():
        raise InputError(f"{count} things would be removed and nobody is there to ask; give --yes")
    try:
        return typer.confirm("Remove them?", err=True)
    except typer.Abort:  # no answer: the end of the input, or Ctrl-C
        return False

"""The parts of `skillopt cache`: opening it, choosing what is meant, asking before removing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from producer.attached import attached
from producer.caching.attempts import RunAttempt, attempts_of, narrowed
from producer.caching.clearing import (
    Cleared,
    Matching,
    Selection,
    age_in_seconds,
    clear,
    fingerprints_of,
    matching,
)
from producer.caching.documents import documents_meant
from producer.cli.console import Terminal
from producer.cli.options import default_store
from producer.facts import LedgerFacts
from producer.known_runs import KnownRun, KnownRuns
from producer.view.cache_page import matching_words
from producer.view.printable import safe
from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import SPLITS
from skillopt.errors import InputError
from skillopt.state.ports import State


@contextmanager
def open_cache(
    redis: str | None, store: Path | None, command: str
) -> Iterator[tuple[State, KnownRuns]]:
    """Attach to the results that are meant, and to the runs that made them."""
    with attached(redis, store or default_store(), command=f"skillopt cache {command}") as state:
        yield state, KnownRuns(state)


@contextmanager
def progress(terminal: Terminal) -> Iterator[Callable[[int], None]]:
    """Show on a terminal how many results were looked at; elsewhere nothing."""
    if not terminal.live:
        yield lambda count: None
        return
    with terminal.err.status("looking through the cache") as status:
        yield lambda count: status.update(f"looking through the cache: {count:,} results")


def chosen_attempts(
    state: State,
    runs: KnownRuns,
    known: KnownRun,
    *,
    task: str | None,
    step: int | None,
    sample: int | None,
) -> list[RunAttempt]:
    """Give the attempts that are meant; raises InputError with what there is if there are none."""
    run = known.run
    facts = LedgerFacts(run, state.runs.ledger(run), state.results, state.blobs)
    attempts = attempts_of(known, runs.state_of(known), facts)
    tasks = [item.id for split in SPLITS for item in known.plan.splits.of(split)]
    if task is not None and task not in tasks:
        raise InputError(f"run {run!r} has no task {task!r}; {did_you_mean(task, tasks, 'tasks')}")
    chosen = narrowed(attempts, task=task, step=step, sample=sample)
    if not chosen and (task, step, sample) != (None, None, None):
        steps = sorted({attempt.step for attempt in attempts if attempt.step is not None})
        samples = sorted({attempt.sample for attempt in attempts})
        raise InputError(
            f"run {run!r} has no such attempt (--task {task!r}, --step {step!r}, --sample "
            f"{sample!r}); it has steps {steps or 'none'} and samples {samples or 'none'}"
        )
    return chosen


def require_a_choice(*choices: str | None, everything: bool) -> None:
    """Raise InputError unless it is said which results are meant, in one way."""
    if any(choice is not None for choice in choices) == everything:
        raise InputError(
            "--all excludes the other choices; leave it out"
            if everything
            else "say what to clear: --skill, --backend, --older-than, or --all"
        )


def selection_of(
    state: State, runs: KnownRuns, skill: str | None, backend: str | None, older_than: str | None
) -> Selection:
    """Give the results that options mean; raises InputError if one cannot mean any."""
    documents = None if skill is None else documents_meant(skill, state, runs)
    return Selection(
        skills=None if documents is None else [document.hash for document in documents],
        fingerprints=None if backend is None else fingerprints_of(backend, state, runs),
        older_than_s=None if older_than is None else age_in_seconds(older_than),
    )


def clear_matching(
    terminal: Terminal,
    state: State,
    runs: KnownRuns,
    selection: Selection,
    *,
    yes: bool,
    dry_run: bool,
) -> None:
    """Say what is meant, ask, remove it and say what was removed."""
    with progress(terminal) as tell:
        meant = matching(state, selection, tell)
    terminal.show(safe(f"{'Would remove' if dry_run else 'To remove'}: {matching_words(meant)}"))
    cleared = Cleared(removed=0, kept=0)
    if meant.payers and not dry_run:
        if yes or _confirmed(terminal, meant):
            with progress(terminal) as tell:
                cleared = clear(state, meant, runs, tell)
        terminal.show(
            safe(f"Removed {cleared.removed:,}; kept {cleared.kept:,} that unfinished runs need.")
        )
    figures = meant.model_dump(mode="json", exclude={"payers"})
    counts = {"matching": len(meant.payers), **figures, **cleared.model_dump(mode="json")}
    terminal.emit({**counts, "dry_run": dry_run})


def _confirmed(terminal: Terminal, meant: Matching) -> bool:
    """Ask a person; raises InputError if there is nobody to ask."""
    if terminal.json or not sys.stdin.isatty():
        raise InputError(
            f"{len(meant.payers)} results would be removed and nobody is there to ask; give --yes"
        )
    try:
        return typer.confirm("Remove them?", err=True)
    except typer.Abort:  # no answer: the end of the input, or Ctrl-C
        return False

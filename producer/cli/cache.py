"""`skillopt cache`: what is stored of earlier calls, and why an attempt was or was not reused."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.cli.command_group import command_group
from producer.cli.options import JsonOption, PresentRedisOption, RunArgument, StoreOption

_DEFAULT_TOP = 10
_DEFAULT_ROWS = 50


def cache() -> None:
    """See which results are stored and why one was not reused; clear.

    Every result is stored once under the hash of all that can change it, and is reused by every
    run that needs the same. One that nobody has used for 14 days expires.

    Examples:
      skillopt cache stats --store my-skill/.skillopt
      skillopt cache explain last --store my-skill/.skillopt
    """


def stats(
    top: Annotated[
        int, typer.Option("--top", metavar="N", min=0, help="Documents to list.")
    ] = _DEFAULT_TOP,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say what the cache holds: results by kind, documents, what was reused, what it is worth.

    Nothing is renewed by looking, and a large shared Redis is walked through in small steps.

    Examples:
      skillopt cache stats --store my-skill/.skillopt
      skillopt cache stats --redis redis://team-redis:6379/0 --json
    """
    from producer.caching.stats import cache_stats
    from producer.cli.cache_parts import open_cache, progress
    from producer.cli.console import Terminal
    from producer.view.cache_page import stats_page

    terminal = Terminal.open(json=json)
    with open_cache(redis, store, "stats") as (state, runs), progress(terminal) as tell:
        counted = cache_stats(state, runs, top=top, tell=tell)
    terminal.show(*stats_page(counted))
    terminal.emit(counted.model_dump(mode="json"))


def show(
    skill: Annotated[
        str,
        typer.Argument(
            metavar="SKILL",
            help="A skill file or folder, its hash or the first digits of it (4 or more), or a "
            "run, which means every document it tried.",
            show_default=False,
        ),
    ],
    rows: Annotated[
        int,
        typer.Option("--rows", metavar="N", min=1, help="Results to list of each document."),
    ] = _DEFAULT_ROWS,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """List every result obtained with a document: task, backend, score, age, what it took.

    The name of a task and its score are known as long as the run that paid is.

    Examples:
      skillopt cache show my-skill/SKILL.md --store my-skill/.skillopt
      skillopt cache show 3f9a2c --redis redis://team-redis:6379/0
      skillopt cache show last --store my-skill/.skillopt --json
    """
    from producer.caching.documents import documents_meant
    from producer.caching.listing import results_of
    from producer.cli.cache_parts import open_cache
    from producer.cli.console import Terminal
    from producer.view.cache_page import document_page

    terminal = Terminal.open(json=json)
    with open_cache(redis, store, "show") as (state, runs):
        documents = documents_meant(skill, state, runs)
        found = [results_of(document, state, runs) for document in documents]
    for one in found:
        terminal.show(*document_page(one, rows=rows))
    terminal.emit({"documents": [one.model_dump(mode="json") for one in found]})


def explain(
    run: RunArgument,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="ID", help="The attempts at one task, each in full."),
    ] = None,
    step: Annotated[
        int | None, typer.Option("--step", metavar="N", min=1, help="Those of one step.")
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="K", min=0, help="One sample of each task.")
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say which attempts of a run were reused and which were made, and why.

    An attempt that was reused names the run that paid. Of one that was made, the nearest results
    stored before are compared field by field: document, memory, task, template, backend, sample.

    Examples:
      skillopt cache explain last --store my-skill/.skillopt
      skillopt cache explain last --store my-skill/.skillopt --task reply-01 --step 2
      skillopt cache explain support-reply --redis redis://team-redis:6379/0 --json
    """
    from producer.caching.explaining import explain_attempts
    from producer.cli.cache_parts import chosen_attempts, open_cache, progress
    from producer.cli.console import Terminal
    from producer.view.cache_page import stories_page, story_object, story_page

    terminal = Terminal.open(json=json)
    with open_cache(redis, store, "explain") as (state, runs), progress(terminal) as tell:
        known = runs.find(Path(run).name if (Path(run) / "plan.json").is_file() else run)
        attempts = chosen_attempts(state, runs, known, task=task, step=step, sample=sample)
        stories = explain_attempts(known, attempts, state, runs, tell)
    if task is None:
        terminal.show(*stories_page(known.run, stories))
    for story in stories if task is not None else ():
        terminal.show(*story_page(story))
    terminal.emit({"run": known.run, "attempts": [story_object(story) for story in stories]})


def clear(
    skill: Annotated[
        str | None,
        typer.Option(
            "--skill",
            metavar="SKILL",
            help="Those obtained with a document: a file, a folder, a hash or a run.",
        ),
    ] = None,
    backend: Annotated[
        str | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="Those of a backend, whatever its parameters were; or a fingerprint.",
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Those made before: 12h, 7d, 2w."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every result.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Remove results, so that a later run makes them anew and pays for them.

    With several options, those results go to which all of them apply. What an unfinished run,
    also a paused one, goes by is kept and counted. Run folders keep all they have.

    Examples:
      skillopt cache clear --store my-skill/.skillopt --older-than 7d --dry-run
      skillopt cache clear --store my-skill/.skillopt --skill my-skill/SKILL.md
      skillopt cache clear --redis redis://team-redis:6379/0 --backend gpt --yes
    """
    from producer.cli.cache_parts import (
        clear_matching,
        open_cache,
        require_a_choice,
        selection_of,
    )
    from producer.cli.console import Terminal

    terminal = Terminal.open(json=json)
    require_a_choice(skill, backend, older_than, everything=everything)
    with open_cache(redis, store, "clear") as (state, runs):
        selection = selection_of(state, runs, skill, backend, older_than)
        clear_matching(terminal, state, runs, selection, yes=yes, dry_run=dry_run)


app = command_group(cache, {"stats": stats, "show": show, "explain": explain, "clear": clear})

"""`skillopt gc`: what is finished and old leaves Redis, and this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.options import JsonOption, PresentRedisOption, StoreOption, default_store


def gc(
    older_than: Annotated[
        str,
        typer.Option(
            "--older-than",
            metavar="AGE",
            help="What ended before: 12h, 30d, 8w.",
            show_default=False,
        ),
    ],
    folders: Annotated[
        bool,
        typer.Option("--folders", help="Remove the folders of those runs too, for good."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Remove old finished runs from Redis, and what was left behind.

    A run goes only if it is finished, ended that long ago, nobody is at work on it, and its
    folder in the store (STORE/runs) is looked through and found whole: `skillopt show` and the
    same `skillopt run` go on to work, and `skillopt restore` puts it back. Unfinished and paused
    runs stay, whatever their age. What owners and teams have spent stays counted. Results are the
    cache's: they expire by themselves, or by `skillopt cache clear`.

    Of this machine go the sockets of dead servers, and workspaces of agent programs whose worker
    was killed, the latter after a week at least.

    Examples:
      skillopt gc --older-than 30d --dry-run --store my-skill/.skillopt
      skillopt gc --older-than 30d --yes --redis redis://team-redis:6379/0 --store /shared/store
      skillopt gc --older-than 26w --folders --store my-skill/.skillopt
    """
    from producer.attached import attached
    from producer.caching.clearing import age_in_seconds
    from producer.cli.console import Terminal
    from producer.cli.gc_parts import collect

    terminal = Terminal.open(json=json)
    age_s = age_in_seconds(older_than)
    where = store or default_store()
    with attached(redis, where, command="skillopt gc") as state:
        collect(terminal, state, where / "runs", age_s, folders=folders, dry_run=dry_run, yes=yes)

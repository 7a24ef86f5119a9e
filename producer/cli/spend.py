"""`skillopt spend`: what the team has spent, and on what."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from producer.cli.options import JsonOption
from producer.cli.queue_options import QueueRedisOption, UrlOption


def spend(
    by: Annotated[
        Literal["owner", "team", "backend", "run"], typer.Option("--by", help="What to sum up by.")
    ] = "owner",
    since: Annotated[
        str | None,
        typer.Option(
            "--since",
            metavar="AGE",
            help="Only lately: 12h, 7d or 2w, in whole days (UTC). Without it, all that is kept.",
            show_default=False,
        ),
    ] = None,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    json: JsonOption = False,
) -> None:
    """Sum up calls and money by owner, team, backend or run.

    Calls without a price are counted, and never as 0 dollars. A server sums up the runs that you
    may see.

    Examples:
      skillopt spend
      skillopt spend --by backend --since 7d
      skillopt spend --by run --since 1d --redis redis://team-redis:6379/0 --json
    """
    from producer.caching.clearing import age_in_seconds
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.view.spend_page import spend_page

    terminal = Terminal.open(json=json)
    since_s = None if since is None else age_in_seconds(since, "--since")
    with opened_queue(url, redis) as queue:
        rows = queue.spend(by, since_s=since_s)
    terminal.show(*spend_page(rows, by))
    terminal.emit(
        {"by": by, "since_s": since_s, "spend": [row.model_dump(mode="json") for row in rows]}
    )

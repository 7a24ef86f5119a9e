"""`skillopt runs`: the runs of the team's queue."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from producer.cli.options import JsonOption
from producer.cli.queue_options import QueueRedisOption, QueueStoreOption, UrlOption


def runs(
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="NAME", help="Those of one owner.", show_default=False),
    ] = None,
    phase: Annotated[
        Literal["queued", "running", "paused", "finished", "cancelled"] | None,
        typer.Option("--phase", help="Those that are so.", show_default=False),
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME=VALUE",
            help="Those with this label. Repeatable: all must fit.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=1000, help="The newest N at most.")
    ] = 20,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """List the queue's runs: owner, phase, scores, cost, time left.

    The newest come first, each with what it does or why it waits. A place is that among the queued
    and running runs that share a backend, the oldest first; all of them get a fair share at the
    same time.

    Examples:
      skillopt runs
      skillopt runs --owner alice --phase running --url https://queue.example.org
      skillopt runs --label ticket=H-17 --redis redis://team-redis:6379/0 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue, read_pairs
    from producer.view.runs_page import runs_page

    terminal = Terminal.open(json=json)
    labels = read_pairs("--label", label)
    with opened_queue(url, redis, store) as queue:
        rows = queue.runs(owner=owner, phase=phase, labels=labels, limit=limit)
    terminal.show(*runs_page(rows))
    terminal.emit({"runs": [row.model_dump(mode="json") for row in rows]})

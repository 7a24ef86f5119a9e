"""`skillopt watch`: a run of the queue as it happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import JsonOption, QuietOption
from producer.cli.queue_options import (
    QueueRedisOption,
    QueueRunArgument,
    QueueStoreOption,
    UrlOption,
)

if TYPE_CHECKING:
    from producer.cli.console import Terminal
    from producer.queue.port import Queue
    from producer.queue.watching import Watched, Watching


def watch(
    run: QueueRunArgument,
    stay: Annotated[
        bool, typer.Option("--stay", help="Stay while the run is paused; without it, leave.")
    ] = False,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Watch a run until it ends or pauses: stage, curve, gates, cost.

    Without a terminal, every event is a line on standard error. Ctrl-C only ends the watching; the
    run goes on.

    Exit codes: 0 finished, 3 paused by its budget, 4 paused by failures or too little coverage, 130
    no longer watched, cancelled, or paused by a person.

    Examples:
      skillopt watch last
      skillopt watch brief-writer --stay --url https://queue.example.org
      skillopt watch last --redis redis://team-redis:6379/0 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue

    with opened_queue(url, redis, store) as queue:
        watch_run(queue, run, Terminal.open(json=json, quiet=quiet), stay=stay)


def watch_run(queue: Queue, run: str, terminal: Terminal, *, stay: bool = False) -> None:
    """Show a run as it happens, and how it stands in the end; exits unless it is finished."""
    from producer.exit_codes import ExitCode
    from producer.queue.watching import Watching
    from producer.view.printable import safe
    from producer.view.screen import Screen
    from producer.view.status_page import status_page
    from producer.view.watch_page import WatchView

    watching = Watching(queue, run, stay=stay)
    with Screen(terminal.err, enabled=terminal.live) as screen:
        left = _watched(watching, WatchView(screen))
    if left:
        again = f"skillopt watch {watching.run}"
        terminal.err.print(safe(f"no longer watched; the run goes on: `{again}`"), soft_wrap=True)
    else:
        terminal.show(*status_page(watching.status))
    terminal.emit(watching.as_object())
    code = ExitCode.INTERRUPTED if left else watching.exit_code
    if code:
        raise typer.Exit(code)


def _watched(watching: Watching, view: Watched) -> bool:
    """Watch until there is nothing more to see; says whether whoever watched has left before."""
    from producer.interruption import Interrupted, interruptible

    try:
        with interruptible():
            watching.watch(view)
    except Interrupted:
        return True
    return False

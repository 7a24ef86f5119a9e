"""`skillopt retune`: change what may change while a run goes on."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.options import JsonOption
from producer.cli.queue_options import (
    QueueRedisOption,
    QueueRunArgument,
    QueueStoreOption,
    UrlOption,
)


def retune(
    run: QueueRunArgument,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="budget.max_usd, budget.max_calls, budget.max_tokens, budget.max_minutes, "
            "priority, window, stop.patience or stop.target_score; `none` lifts a limit. "
            "Repeatable.",
            show_default=False,
        ),
    ] = None,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """Change budget, priority, window or stop rules of an open run.

    It takes effect within seconds and is recorded in the run's log; everything else of a run can
    change its outcome, so another spec is another run. `window` is the most jobs it may have in
    flight on each backend; without one, its fair share decides.

    Examples:
      skillopt retune last --set budget.max_usd=5
      skillopt retune brief-writer --set priority=high --set window=8 --set stop.patience=3
      skillopt retune last --set window=none --url https://queue.example.org --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.queue.retuning import read_retuning
    from producer.view.runs_page import reply_page

    terminal = Terminal.open(json=json)
    retuning = read_retuning(set_ or ())
    with opened_queue(url, redis, store) as queue:
        reply = queue.retune(run, retuning)
    terminal.show(*reply_page(reply))
    terminal.emit(reply.model_dump(mode="json"))

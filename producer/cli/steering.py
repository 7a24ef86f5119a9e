"""`skillopt pause`, `resume` and `cancel`: what people ask of a run that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from producer.cli.options import JsonOption
from producer.cli.queue_options import (
    QueueRedisOption,
    QueueRunArgument,
    QueueStoreOption,
    UrlOption,
)


def pause(
    run: QueueRunArgument,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """Let a run begin nothing new, until `skillopt resume`.

    What workers are at comes to its end and is kept.

    Examples:
      skillopt pause brief-writer
      skillopt pause last --url https://queue.example.org --json
    """
    _steer("pause", run, url, redis, store, json=json)


def resume(
    run: QueueRunArgument,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """Let a paused run go on.

    Jobs that were given up are tried again. A run whose budget is used up needs a larger one
    before: `skillopt retune`.

    Examples:
      skillopt resume brief-writer
      skillopt resume last --redis redis://team-redis:6379/0 --json
    """
    _steer("resume", run, url, redis, store, json=json)


def cancel(
    run: QueueRunArgument,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """End a run; all that it has paid for is kept.

    Workers stop what they do for it alone within a heartbeat. What another run waits for goes on.
    Submitting the same spec again goes on with the run.

    Examples:
      skillopt cancel brief-writer
      skillopt cancel last --url https://queue.example.org --json
    """
    _steer("cancel", run, url, redis, store, json=json)


def _steer(
    verb: Literal["pause", "resume", "cancel"],
    run: str,
    url: str | None,
    redis: str | None,
    store: Path | None,
    *,
    json: bool,
) -> None:
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.view.runs_page import reply_page

    terminal = Terminal.open(json=json)
    with opened_queue(url, redis, store) as queue:
        asked = {"pause": queue.pause, "resume": queue.resume, "cancel": queue.cancel}
        reply = asked[verb](run)
    terminal.show(*reply_page(reply))
    terminal.emit(reply.model_dump(mode="json"))

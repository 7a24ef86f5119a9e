"""`skillopt status`: how one run of the queue stands."""

from __future__ import annotations

from producer.cli.options import JsonOption
from producer.cli.queue_options import (
    QueueRedisOption,
    QueueRunArgument,
    QueueStoreOption,
    UrlOption,
)


def status(
    run: QueueRunArgument,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: QueueStoreOption = None,
    json: JsonOption = False,
) -> None:
    """Tell how a run stands, and why: scores, spend, share, time.

    Examples:
      skillopt status last
      skillopt status brief-writer --url https://queue.example.org
      skillopt status last --redis redis://team-redis:6379/0 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.view.status_page import status_page

    terminal = Terminal.open(json=json)
    with opened_queue(url, redis, store) as queue:
        found = queue.status(run)
    terminal.show(*status_page(found))
    terminal.emit(found.model_dump(mode="json"))

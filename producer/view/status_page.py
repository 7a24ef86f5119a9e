"""One run of the queue in full, as `skillopt status` tells it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.queue.models import RunStatus
from producer.view import numbers
from producer.view.printable import safe
from producer.view.queue_words import (
    PHASE_STYLES,
    label_words,
    left_words,
    limit_words,
    moment,
    owner_words,
    role_words,
    score_words,
    share_words,
    standing_words,
    step_words,
    work_words,
)

#: Tasks left out that are named; the rest is counted.
_NAMED = 5


def status_page(status: RunStatus) -> list[RenderableType]:
    row = status.row
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, words in _lines(status):
        if words:
            table.add_row(name, safe(words))
    title = safe(row.run, "bold").append(f"  {row.phase}", style=PHASE_STYLES[row.phase])
    warnings = [safe(f"warning: {one}", "yellow") for one in status.warnings]
    return [title, safe(standing_words(status)), Text(), table, *warnings]


def _lines(status: RunStatus) -> Iterator[tuple[str, str]]:
    row = status.row
    ended = "" if row.ended_at is None else f", ended {moment(row.ended_at)}"
    place = "" if row.position is None else f"{row.position} among the runs on its backends"
    window = "" if status.window is None else f", at most {status.window} in flight on a backend"
    yield "name", row.name if row.name != row.run else ""
    yield "owner", owner_words(row)
    yield "priority", f"{row.priority}{window}"
    yield "labels", label_words(row.labels)
    yield "submitted", f"{moment(row.created_at)}{ended}"
    yield "place", place
    yield "active for", numbers.duration(row.active_s)
    yield "still needs", left_words(row)
    yield "step", step_words(row)
    yield "score", score_words(row)
    yield "work", work_words(status)
    yield "calls by role", role_words(row)
    yield "budget", limit_words(status.budget)
    for share in status.shares:
        yield "share", share_words(share)
    if row.spent.unconfirmed_calls:
        yield "unconfirmed", numbers.plural(row.spent.unconfirmed_calls, "call")
    if status.given_up:
        yield "given up", f"{numbers.plural(status.given_up, 'job')}; see `skillopt dead list`"
    yield "left out", _left_out(status)
    yield "folder", status.run_dir or ""


def _left_out(status: RunStatus) -> str:
    tasks = list(status.left_out)
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return ", ".join(tasks[:_NAMED]) + more

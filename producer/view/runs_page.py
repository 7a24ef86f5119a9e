"""The list of runs, and the answer to somebody who has submitted or steered one."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.queue.models import ControlReply, RunRow
from producer.view import numbers
from producer.view.printable import one_line, safe
from producer.view.queue_words import (
    OPEN_PHASES,
    PHASE_STYLES,
    label_words,
    left_words,
    score_words,
    step_words,
)

_LONGEST = 160
_COLUMNS = (
    "run",
    "owner",
    "phase",
    "place",
    "priority",
    "step",
    "score",
    "cost",
    "at its end",
    "left",
)
_WHOLE = frozenset({"phase", "score", "step", "cost", "left"})


def runs_page(rows: Sequence[RunRow]) -> list[RenderableType]:
    """Give two lines for each run: its figures, and what it does or why it waits."""
    if not rows:
        return [Text("No such run. `skillopt submit SPEC` makes one; without options all count.")]
    table = Table(box=None, pad_edge=False)
    for column in _COLUMNS:
        table.add_column(column, overflow="fold", no_wrap=column in _WHOLE)
    for row in rows:
        table.add_row(
            safe(row.run, "bold"),
            safe(row.owner or "nobody"),
            Text(row.phase, style=PHASE_STYLES[row.phase]),
            "" if row.position is None else str(row.position),
            row.priority,
            step_words(row),
            score_words(row),
            numbers.dollars(row.spent.usd),
            _projected(row),
            left_words(row),
        )
    return [table, Text(), *(_remark(row) for row in rows)]


def _projected(row: RunRow) -> str:
    """Say what an open run will have cost, as far as that is known."""
    known = row.phase in OPEN_PHASES and row.projected_usd is not None
    return numbers.dollars(row.projected_usd) if known else ""


def _remark(row: RunRow) -> Text:
    words = safe(f"{row.run}: ", "dim").append(one_line(row.words, _LONGEST))
    if row.dead_jobs:
        words.append(f"; {row.dead_jobs} given up, see `skillopt dead list`", style="red")
    if row.labels:
        words.append(f"  [{one_line(label_words(row.labels), _LONGEST)}]", style="dim")
    return words


def submitted_page(row: RunRow) -> list[RenderableType]:
    place = "" if row.position is None else f", place {row.position} on its backends"
    return [
        safe(f"{row.run} is {row.phase}{place}: {one_line(row.words, _LONGEST)}"),
        safe(f"Watch it:       skillopt watch {row.run}", "dim"),
        safe(f"Its artifacts:  skillopt export {row.run} FOLDER", "dim"),
    ]


def reply_page(reply: ControlReply) -> list[RenderableType]:
    return [safe(reply.words, "yellow" if reply.outcome == "waiting" else "")]

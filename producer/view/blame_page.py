"""A document with the origin of each of its lines in the margin."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.blame import BlamedLine
from producer.revisions import Revision
from producer.view.printable import one_line, printable, safe

_SHOWN_TASKS = 3


def blame_page(revision: Revision, lines: Sequence[BlamedLine]) -> list[RenderableType]:
    table = Table("brought by", "gain", "evidence", "line", box=None, pad_edge=False)
    for line in lines:
        style = "dim" if line.source is None else ""
        table.add_row(
            _who(line), _gain(line), safe(_tasks(line)), Text(printable(line.text)), style=style
        )
    title = Text(f"{revision.label}: which step brought each line", style="bold")
    note = safe("gain: val score of the whole step, after less before, on the same tasks", "dim")
    return [title, table, note]


def _who(line: BlamedLine) -> str:
    memory = " (memory)" if line.document == "memory" else ""
    if line.source is None:
        return f"as given{memory}"
    word = "slow update after step" if line.source == "slow_update" else "step"
    return f"{word} {line.step}{memory}"


def _gain(line: BlamedLine) -> str:
    return "" if line.gain is None else f"{line.gain:+.3f}"


def _tasks(line: BlamedLine) -> str:
    shown = ", ".join(one_line(task, 40) for task in line.tasks[:_SHOWN_TASKS])
    more = len(line.tasks) - _SHOWN_TASKS
    return f"{shown} and {more} more" if more > 0 else shown

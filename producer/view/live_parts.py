"""Parts that every live view of a run has: its progress, and its curve."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from producer.view.curve import CurvePoint, legend, plot
from producer.view.printable import safe

_BAR_WIDTH = 24


def progress_row(words: str, done: int, total: int) -> Table:
    """Say what is done now, with a bar if it is known how much there is."""
    row = Table.grid(padding=(0, 2))
    if total:
        bar = ProgressBar(total=total, completed=min(done, total), width=_BAR_WIDTH)
        row.add_row(safe(words, "bold"), bar, f"{done}/{total}")
    else:
        row.add_row(safe(words, "bold"))
    return row


def curve_part(points: Sequence[CurvePoint], metric: str, console: Console) -> list[RenderableType]:
    """Give the curve with its heading, as large as the console has room."""
    options = console.options
    return [
        Text(),
        Text(f"val {metric} by step   {legend(ascii_only=options.ascii_only)}", style="bold"),
        plot(
            list(points),
            width=max(options.max_width - 4, 20),
            height=5 if options.size.height < 24 else 7,
            ascii_only=options.ascii_only,
        ),
    ]

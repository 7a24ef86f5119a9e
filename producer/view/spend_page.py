"""What was spent, by owner, team, backend or run."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.queue.models import SpendRow
from producer.queue.port import SpendBy
from producer.view import numbers
from producer.view.printable import safe


def spend_page(rows: Sequence[SpendRow], by: SpendBy) -> list[RenderableType]:
    if not rows:
        return [Text("Nothing was spent in that time.")]
    table = Table(box=None, pad_edge=False)
    table.add_column(by, overflow="fold")
    for column in ("calls", "input tokens", "output tokens", "cost"):
        table.add_column(column, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(safe(row.key or "none", "bold"), *_figures(row))
    if len(rows) > 1:
        table.add_section()
        table.add_row("together", *_figures(_sum(rows)))
    unpriced = sum(row.unpriced_calls for row in rows)
    if not unpriced:
        return [table]
    calls = numbers.plural(unpriced, "call")
    return [table, Text(f"{calls} to backends without a price, not in the cost", style="dim")]


def _figures(row: SpendRow) -> tuple[str, str, str, str]:
    priced = row.unpriced_calls < row.calls or not row.calls
    return (
        numbers.count(row.calls),
        numbers.count(row.input_tokens),
        numbers.count(row.output_tokens),
        numbers.dollars(row.usd if priced else None),
    )


def _sum(rows: Sequence[SpendRow]) -> SpendRow:
    return SpendRow(
        key="",
        calls=sum(row.calls for row in rows),
        input_tokens=sum(row.input_tokens for row in rows),
        output_tokens=sum(row.output_tokens for row in rows),
        usd=sum(row.usd for row in rows),
        unpriced_calls=sum(row.unpriced_calls for row in rows),
    )

"""What owners may have at once, for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.queue.models import Quota
from producer.view import numbers
from producer.view.printable import safe


def quota_page(quotas: Sequence[Quota]) -> list[RenderableType]:
    if not quotas:
        return [
            Text(
                "No owner has a quota or an open run. `skillopt quota set OWNER --max-runs 3` sets "
                "one."
            )
        ]
    table = Table(box=None, pad_edge=False)
    for column in ("owner", "open runs", "max runs", "max window"):
        table.add_column(column, justify="left" if column == "owner" else "right")
    for one in quotas:
        table.add_row(
            safe(one.owner, "bold"),
            numbers.count(one.runs),
            _limit(one.max_runs),
            _limit(one.max_window),
        )
    return [table]


def _limit(value: int | None) -> str:
    return "no limit" if value is None else numbers.count(value)

"""What was spent since when, by owner, team, backend or run."""

from __future__ import annotations

from collections.abc import Iterable

from producer.queue.models import SpendRow
from producer.queue.port import SpendBy
from skillopt.domain.timing import DAY_S
from skillopt.domain.usage import MICRO
from skillopt.state.ports import DaySpend, State

#: Days that are looked at if no time is named: all that are kept, and some.
_ALL_DAYS = 500


def days_of(state: State, since_s: float | None) -> list[DaySpend]:
    """Give what was spent on the days (UTC) that the last `since_s` seconds touch."""
    now = state.server.now()
    today = int(now // DAY_S)
    first = today - _ALL_DAYS if since_s is None else int((now - since_s) // DAY_S)
    return state.spending.of_days(max(first, today - _ALL_DAYS), today)


def spend_rows(days: Iterable[DaySpend], by: SpendBy) -> list[SpendRow]:
    """Sum spending up, the most expensive first; "" is what has no owner or team."""
    sums: dict[str, list[int]] = {}
    for one in days:
        amounts = sums.setdefault(getattr(one, by), [0] * 5)
        parts = (
            one.calls,
            one.input_tokens,
            one.output_tokens,
            one.micro_usd,
            one.unpriced_calls,
        )
        for index, part in enumerate(parts):
            amounts[index] += part
    rows = [
        SpendRow(
            key=key,
            calls=calls,
            input_tokens=given,
            output_tokens=written,
            usd=micro_usd / MICRO,
            unpriced_calls=unpriced,
        )
        for key, (calls, given, written, micro_usd, unpriced) in sums.items()
    ]
    return sorted(rows, key=lambda row: (-row.usd, -row.calls, row.key))

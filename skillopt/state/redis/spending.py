"""What was spent on which day, in Redis: one hash for each day, written by settle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import redis

from skillopt.domain.usage import ROLES, Role
from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports.spending import DaySpend
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import chunks

_COUNTERS = ("calls", "input_tokens", "output_tokens", "micro_usd", "unpriced_calls")
#: Days that are read in one go.
_DAYS_PER_CALL = 50


class RedisSpending:
    """Fields are "<run>|<owner>|<team>|<backend>|<role>|<counter>"."""

    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def of_days(self, first: int, last: int) -> list[DaySpend]:
        found: list[DaySpend] = []
        for days in chunks(range(first, last + 1), _DAYS_PER_CALL):
            with translated():
                pipeline = self._client.pipeline(transaction=False)
                for day in days:
                    pipeline.hgetall(keys.spending(day))
                books = pipeline.execute()
            for day, book in zip(days, books, strict=True):
                found += _rows(day, book)
        return sorted(found)


def _rows(day: int, book: dict[bytes, bytes]) -> Iterator[DaySpend]:
    what = f"the spending of day {day}"
    counters: dict[tuple[str, ...], dict[str, int]] = {}
    for field, value in book.items():
        *whose, counter = text(field, what).split("|")
        if len(whose) != 5 or whose[4] not in ROLES:
            raise StateCorrupt(f"{what} has a field {field!r}, which is none of ours")
        counters.setdefault(tuple(whose), {})[counter] = integer(value, what)
    for (run, owner, team, backend, role), amounts in counters.items():
        # What a later version counts besides is not shown.
        known: Any = {name: amounts.get(name, 0) for name in _COUNTERS}
        yield DaySpend(day, run, owner, team, backend, cast(Role, role), **known)

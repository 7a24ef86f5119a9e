"""What was spent on which day, in memory."""

from __future__ import annotations

from dataclasses import replace

from skillopt.domain.timing import DAY_S
from skillopt.domain.usage import Role
from skillopt.state.memory.tables import Reservation, Tables
from skillopt.state.ports.spending import DaySpend


class MemorySpending:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def of_days(self, first: int, last: int) -> list[DaySpend]:
        with self._tables.changed:
            books = [self._tables.spending.get(str(day)) for day in range(first, last + 1)]
            return sorted(one for book in books if book for one in book.values())


def add_call(tables: Tables, run: str, held: Reservation) -> None:
    """Count the calls of a reservation on the day that it is over."""
    calls = held.estimate.calls
    row = _row(tables, run, held)
    _put(
        tables,
        replace(
            row,
            calls=row.calls + calls,
            unpriced_calls=row.unpriced_calls + (0 if held.priced else calls),
        ),
    )


def add_taken(
    tables: Tables,
    run: str,
    held: Reservation,
    *,
    input_tokens: int,
    output_tokens: int,
    micro_usd: int,
) -> None:
    """Count what a call took."""
    row = _row(tables, run, held)
    _put(
        tables,
        replace(
            row,
            input_tokens=row.input_tokens + input_tokens,
            output_tokens=row.output_tokens + output_tokens,
            micro_usd=row.micro_usd + micro_usd,
        ),
    )


def _row(tables: Tables, run: str, held: Reservation) -> DaySpend:
    day = int(tables.clock() // DAY_S)
    names = {scope.kind: scope.name for scope in held.shared}
    empty = DaySpend(
        day, run, names.get("owner", ""), names.get("team", ""), held.backend, held.role
    )
    return (tables.spending.get(str(day)) or {}).get(_key(empty), empty)


def _put(tables: Tables, row: DaySpend) -> None:
    book = tables.spending.get(str(row.day)) or {}
    book[_key(row)] = row
    tables.spending.put(str(row.day), book, tables.timing.spending_ttl_s)


def _key(row: DaySpend) -> tuple[str, str, str, str, Role]:
    return (row.run, row.owner, row.team, row.backend, row.role)

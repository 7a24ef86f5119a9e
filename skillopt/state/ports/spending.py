"""What was spent on which day: for reports, never for a decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from skillopt.domain.usage import Role


@dataclass(frozen=True, order=True)
class DaySpend:
    """The calls of one run to one backend in one role on one day (UTC, days since 1970-01-01).

    A call counts on the day it ended. One whose end nobody knows counts as a call without tokens
    and money: what it is estimated at is with its run's budget, as unconfirmed.
    """

    day: int
    run: str
    owner: str
    team: str
    backend: str
    role: Role
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    #: Of the calls, those to a backend without a price.
    unpriced_calls: int = 0


class Spending(Protocol):
    """Written when calls are settled (see `Budgets`)."""

    def of_days(self, first: int, last: int) -> list[DaySpend]:
        """Give what was spent on these days, both included, in order; older than some hundred
        days is forgotten.
        """
        ...

"""A run's budget as the meter of its calls knows it."""

from __future__ import annotations

from skillopt.domain.spec import Budget
from skillopt.domain.usage import MICRO
from skillopt.state.ports import Caps


def caps_of(budget: Budget) -> Caps:
    """Give the caps of calls, tokens and money; minutes are the coordinator's to watch."""
    usd = None if budget.max_usd is None else round(budget.max_usd * MICRO)
    return Caps(calls=budget.max_calls, tokens=budget.max_tokens, micro_usd=usd)

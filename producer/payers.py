"""Who pays for a run beside itself, and whether a run can be held to what they allow."""

from __future__ import annotations

from collections.abc import Iterable

from producer.view import numbers
from skillopt.config.prices import PriceBook
from skillopt.domain.backend import Backend
from skillopt.domain.plan import RunPlan
from skillopt.domain.usage import MICRO
from skillopt.state.ports import Budgets, Scope


def payers_of(plan: RunPlan) -> list[Scope]:
    """Give the owner and the team of a run, where it has them."""
    owner = [Scope("owner", plan.owner)] if plan.owner else []
    return owner + ([Scope("team", plan.team)] if plan.team else [])


def require_prices_for(budgets: Budgets, plan: RunPlan, backends: Iterable[Backend]) -> None:
    """Raise ConfigError if the money of the run's owner or team is limited, but the price of a
    backend is unknown: its calls would be for nothing.
    """
    payers, used = payers_of(plan), list(backends)
    for shared in budgets.shared() if payers else ():
        cap = shared.caps.micro_usd
        if shared.scope in payers and cap is not None:
            limit = numbers.dollars(cap / MICRO)
            PriceBook().require(
                used,
                because=f"{shared.scope.kind} {shared.scope.name!r} may spend {limit}",
                otherwise=f"remove the cap: `skillopt budget set {shared.scope} --max-usd none`",
            )

"""What owners and teams may spend and have spent, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.shared_budgets import calls_confirmed, dollars_spent
from producer.view import numbers
from producer.view.printable import safe
from skillopt.domain.usage import MICRO
from skillopt.state.ports import Amount, SharedBudget

NO_LIMIT = "no cap"


def budget_page(budgets: Sequence[SharedBudget]) -> list[RenderableType]:
    """Give one block of three lines for each owner and team: calls, tokens, money."""
    if not budgets:
        return [
            Text(
                "No owner and no team has a budget here. A run has an owner by `owner:` in its "
                "spec or SKILLOPT_OWNER; `skillopt budget set owner:NAME --max-usd 20` sets a cap."
            )
        ]
    table = Table(box=None, pad_edge=False)
    for name in ("budget", "", "cap", "spent", "reserved", "unconfirmed"):
        numeric = name in ("cap", "spent", "reserved", "unconfirmed")
        table.add_column(name, justify="right" if numeric else "left", no_wrap=numeric)
    for budget in budgets:
        for number, row in enumerate(_rows(budget)):
            table.add_row(safe(str(budget.scope), "bold") if number == 0 else "", *row)
    return [table, *_remarks(budgets)]


def budget_object(budget: SharedBudget) -> dict[str, Any]:
    """Give a budget as a program reads it."""
    caps, spend = budget.caps, budget.spend
    usd = dollars_spent(spend)
    return {
        "scope": str(budget.scope),
        "kind": budget.scope.kind,
        "name": budget.scope.name,
        "caps": {
            "calls": caps.calls,
            "tokens": caps.tokens,
            "usd": None if caps.micro_usd is None else caps.micro_usd / MICRO,
        },
        # By role, whether their answers arrived or not; the other figures add up.
        "calls_by_role": dict(spend.calls),
        "spent": {
            "calls": calls_confirmed(spend),
            "tokens": {
                "input": spend.input_tokens,
                "output": spend.output_tokens,
                "estimated": spend.estimated_tokens,
            },
            "usd": usd,
            "unpriced_calls": spend.unpriced_calls,
        },
        "reserved": _amount(spend.reserved, priced=usd is not None),
        "unconfirmed": _amount(spend.unconfirmed, priced=usd is not None),
    }


def _amount(amount: Amount, *, priced: bool) -> dict[str, Any]:
    return {
        "calls": amount.calls,
        "tokens": amount.tokens,
        "usd": amount.micro_usd / MICRO if priced else None,
    }


def _rows(budget: SharedBudget) -> list[tuple[str, str, str, str, str]]:
    caps, spend = budget.caps, budget.spend
    usd = dollars_spent(spend)

    def money(amount: Amount) -> str:
        return numbers.dollars(None if usd is None else amount.micro_usd / MICRO)

    cap_usd = None if caps.micro_usd is None else caps.micro_usd / MICRO
    return [
        (
            "calls",
            _cap(caps.calls),
            numbers.count(calls_confirmed(spend)),
            numbers.count(spend.reserved.calls),
            numbers.count(spend.unconfirmed.calls),
        ),
        (
            "tokens",
            _cap(caps.tokens),
            numbers.count(spend.input_tokens + spend.output_tokens),
            numbers.count(spend.reserved.tokens),
            numbers.count(spend.unconfirmed.tokens),
        ),
        (
            "money",
            NO_LIMIT if cap_usd is None else numbers.dollars(cap_usd),
            numbers.dollars(usd),
            money(spend.reserved),
            money(spend.unconfirmed),
        ),
    ]


def _cap(cap: int | None) -> str:
    return NO_LIMIT if cap is None else numbers.count(cap)


def _remarks(budgets: Sequence[SharedBudget]) -> list[RenderableType]:
    lines = []
    for budget in budgets:
        spend = budget.spend
        if spend.unpriced_calls and dollars_spent(spend) is not None:
            calls = numbers.plural(spend.unpriced_calls, "call")
            lines.append(f"{budget.scope}: {calls} to backends without a price, not in the money")
        if spend.estimated_tokens:
            tokens = numbers.plural(spend.estimated_tokens, "token")
            lines.append(f"{budget.scope}: {tokens} are our own estimate")
    return [Text(), *(safe(line, "dim") for line in lines)] if lines else []

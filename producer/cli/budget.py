"""`skillopt budget`: what owners and teams may spend, and have spent, over all their runs."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from producer.cli.command_group import command_group
from producer.cli.options import JsonOption, PresentRedisOption, StoreOption, default_store


def budget() -> None:
    """See and set what owners and teams may spend, over all runs.

    A run belongs to an owner and a team if its spec (`owner:`, `team:`) or the environment of
    whoever starts it (SKILLOPT_OWNER, SKILLOPT_TEAM) names them. Every call is then paid by run,
    owner and team together: it is made only if all of them allow it. What a run alone may spend
    is `budget:` in its spec.

    Examples:
      skillopt budget show
      skillopt budget set owner:alice --max-usd 20
    """


def show(
    by: Annotated[
        Literal["owner", "team"] | None,
        typer.Option("--by", help="Only owners, or only teams.", show_default=False),
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """List owners and teams with their caps and what they have spent, reserved and unconfirmed.

    Reserved: the most that calls in flight can take. Unconfirmed: calls that were sent and never
    answered, or whose worker vanished; they may have been billed, so caps count them at their
    estimate.

    Examples:
      skillopt budget show --store my-skill/.skillopt
      skillopt budget show --by team --redis redis://team-redis:6379/0 --json
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.view.budget_page import budget_object, budget_page

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt budget show") as state:
        budgets = [one for one in state.budgets.shared() if by is None or one.scope.kind == by]
    terminal.show(*budget_page(budgets))
    terminal.emit({"budgets": [budget_object(one) for one in budgets]})


def set_(
    scope: Annotated[
        str,
        typer.Argument(
            metavar="owner:NAME|team:NAME", help="Whose caps to set.", show_default=False
        ),
    ],
    max_calls: Annotated[
        str | None,
        typer.Option("--max-calls", metavar="N", help="Calls, or none.", show_default=False),
    ] = None,
    max_tokens: Annotated[
        str | None,
        typer.Option("--max-tokens", metavar="N", help="Tokens, or none.", show_default=False),
    ] = None,
    max_usd: Annotated[
        str | None,
        typer.Option("--max-usd", metavar="X", help="US dollars, or none.", show_default=False),
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Set what an owner or a team may spend in total, over all runs; `none` removes a cap.

    Caps that are not named stay. A cap takes effect with the next call of every run. A run that
    a cap has stopped (exit code 3) continues by the command that started it, once the cap is
    raised.

    Examples:
      skillopt budget set owner:alice --max-usd 20 --max-calls 5000
      skillopt budget set team:blue --max-usd none --redis redis://team-redis:6379/0
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.shared_budgets import read_caps, read_scope
    from producer.view.budget_page import budget_object, budget_page

    terminal = Terminal.open(json=json)
    meant = read_scope(scope)
    caps = read_caps({"calls": max_calls, "tokens": max_tokens, "usd": max_usd})
    with attached(redis, store or default_store(), command="skillopt budget set") as state:
        state.budgets.set_shared_caps(meant, caps)
        [after] = [one for one in state.budgets.shared() if one.scope == meant]
    terminal.show(*budget_page([after]))
    terminal.emit(budget_object(after))


app = command_group(budget, {"show": show, "set": set_})

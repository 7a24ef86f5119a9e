"""`skillopt token`: who may use the HTTP API."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from producer.cli.command_group import command_group
from producer.cli.options import JsonOption, PresentRedisOption, StoreOption, default_store

_NAME_HELP = "What the token is called, e.g. alice-laptop."


def token() -> None:
    """Make, list and revoke the tokens that the HTTP API asks for.

    A viewer reads, a runner also submits runs and controls those of its owner, an admin does
    everything. Viewers and runners see the runs of their owner and of their team. Only hashes of
    tokens are stored: a lost token cannot be shown again, only replaced.

    Examples:
      skillopt token create alice-laptop --role runner --owner alice --team blue
      skillopt token list
      skillopt token revoke alice-laptop
    """


def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAME_HELP, show_default=False)],
    owner: Annotated[
        str,
        typer.Option("--owner", metavar="NAME", help="Whose runs it is for.", show_default=False),
    ],
    role: Annotated[
        Literal["viewer", "runner", "admin"], typer.Option("--role", help="What it may do.")
    ] = "viewer",
    team: Annotated[
        str,
        typer.Option("--team", metavar="NAME", help="Its owner's team; its runs can be read, too."),
    ] = "",
    days: Annotated[
        float | None,
        typer.Option("--days", metavar="N", help="End it after so many days.", show_default=False),
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Make a token and print it, this once, on standard output.

    Whoever has it acts as its owner: pass it on in SKILLOPT_TOKEN, not as an argument.

    Examples:
      skillopt token create alice-laptop --role runner --owner alice --team blue
      skillopt token create ci --role viewer --owner alice --days 30 --redis redis://host:6379/0
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.tokens import issue
    from producer.view.printable import safe
    from producer.view.token_page import created_words, token_object

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt token create") as state:
        issued = issue(state.tokens, name=name, role=role, owner=owner, team=team, days=days)
    if not json:
        terminal.err.print(safe(created_words(issued.info)), soft_wrap=True)
    terminal.show(safe(issued.secret))
    terminal.emit({"token": issued.secret, **token_object(issued.info)})


def list_(
    redis: PresentRedisOption = None, store: StoreOption = None, json: JsonOption = False
) -> None:
    """List the tokens in force: name, role, owner, team, since and until when.

    Examples:
      skillopt token list --redis redis://team-redis:6379/0
      skillopt token list --store my-skill/.skillopt --json
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.view.token_page import token_object, token_page

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt token list") as state:
        tokens = state.tokens.all()
    terminal.show(*token_page(tokens))
    terminal.emit({"tokens": [token_object(one) for one in tokens]})


def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAME_HELP, show_default=False)],
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """End a token: the next request with it is refused.

    Examples:
      skillopt token revoke alice-laptop --redis redis://team-redis:6379/0
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.view.printable import safe
    from skillopt.errors import InputError

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt token revoke") as state:
        if not state.tokens.revoke(name):
            known = ", ".join(one.name for one in state.tokens.all()) or "none"
            raise InputError(f"no token {name!r} is in force; there are: {known}")
    terminal.show(safe(f"token {name} is revoked"))
    terminal.emit({"revoked": name})


app = command_group(token, {"create": create, "list": list_, "revoke": revoke})

"""`skillopt quota`: what owners may have at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.command_group import command_group
from producer.cli.options import JsonOption
from producer.cli.queue_options import QueueRedisOption, UrlOption

if TYPE_CHECKING:
    from producer.queue.models import Quota


def quota() -> None:
    """See and set how many runs, and jobs in flight, owners may have.

    Open are runs that are queued or running. Who has as many as they may have cannot submit or
    resume another one. A window holds for all runs of an owner together, on each backend. What
    owners may spend is `skillopt budget`.

    Examples:
      skillopt quota show
      skillopt quota set alice --max-runs 3 --max-window 16
    """


def show(url: UrlOption = None, redis: QueueRedisOption = None, json: JsonOption = False) -> None:
    """List owners with their quotas and open runs; a server shows you your own.

    Examples:
      skillopt quota show
      skillopt quota show --redis redis://team-redis:6379/0 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.view.quota_page import quota_page

    terminal = Terminal.open(json=json)
    with opened_queue(url, redis) as queue:
        quotas = queue.quotas()
    terminal.show(*quota_page(quotas))
    terminal.emit({"quotas": [one.model_dump(mode="json") for one in quotas]})


def set_(
    owner: Annotated[
        str, typer.Argument(metavar="OWNER", help="Whose quota to set.", show_default=False)
    ],
    max_runs: Annotated[
        str | None,
        typer.Option("--max-runs", metavar="N", help="Open runs, or none.", show_default=False),
    ] = None,
    max_window: Annotated[
        str | None,
        typer.Option(
            "--max-window",
            metavar="N",
            help="Jobs in flight on each backend, or none.",
            show_default=False,
        ),
    ] = None,
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    json: JsonOption = False,
) -> None:
    """Set what an owner may have at once; `none` removes a limit, what is not named stays.

    Runs that are open already go on. A server lets only an admin do it.

    Examples:
      skillopt quota set alice --max-runs 3
      skillopt quota set alice --max-runs none --max-window 16 --redis redis://team-redis:6379/0
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.view.quota_page import quota_page
    from skillopt.errors import InputError

    terminal = Terminal.open(json=json)
    if max_runs is None and max_window is None:
        raise InputError(f"say what to change for {owner!r}: --max-runs or --max-window")
    changes = {
        name: _figure(f"--{name.replace('_', '-')}", written)
        for name, written in (("max_runs", max_runs), ("max_window", max_window))
        if written is not None
    }
    with opened_queue(url, redis) as queue:
        before = _of(queue.quotas(), owner)
        queue.set_quota(before.model_copy(update=changes))
        after = _of(queue.quotas(), owner)
    terminal.show(*quota_page([after]))
    terminal.emit(after.model_dump(mode="json"))


def _of(quotas: list[Quota], owner: str) -> Quota:
    from producer.queue.models import Quota

    return next((one for one in quotas if one.owner == owner), Quota(owner=owner))


def _figure(option: str, written: str) -> int | None:
    from skillopt.errors import InputError

    if written.lower() == "none":
        return None
    digits = written.replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise InputError(f"{option}: {written!r} is no whole number; give one, or none")
    return int(digits)


app = command_group(quota, {"show": show, "set": set_})

"""`skillopt backends`: which backends there are, who serves them, and how much they may do."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.command_group import FirstByDefault, command_group
from producer.cli.options import (
    BackendsOption,
    JsonOption,
    OptionalSpecArgument,
    PresentRedisOption,
    StoreOption,
    default_store,
)
from producer.cli.queue_options import QueueRedisOption, UrlOption

if TYPE_CHECKING:
    from producer.attached import Reached
    from producer.inventory import Inventory
    from producer.view.backends_page import BackendsPage


def backends() -> None:
    """List backends and who serves them; limit them live (`set`).

    Examples:
      skillopt backends
      skillopt backends my-skill/spec.yaml --redis redis://127.0.0.1:6379/0
      skillopt backends set gpt rpm=300 concurrency=8
    """


def list_(
    spec: OptionalSpecArgument = None,
    backends: BackendsOption = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """List the backends there are, and the workers that serve them.

    Of each entry of the catalogue, as it resolves here: where it is defined, its price, limits and
    fingerprint, and whether its credential is set (never what it is). Workers, calls in flight and
    queues are shown if a Redis can be asked: the one given, or that of a run which is going on in
    the store. An entry that is wrong is listed with what is wrong. No model is called; `skillopt
    doctor` does that.

    Examples:
      skillopt backends
      skillopt backends my-skill/spec.yaml --redis redis://127.0.0.1:6379/0
      skillopt backends list --backends backends.yaml --json
    """
    from producer.attached import reached
    from producer.cli.console import Terminal
    from producer.inventory import InventoryReader
    from producer.published import published_revision

    terminal = Terminal.open(json=json)
    reader = InventoryReader(os.environ, published_revision)
    inventory = reader.read(spec, backends, everything=True)
    with reached(redis, store or default_store(spec)) as found:
        page = _page(inventory, found)
    terminal.show(*page.rendered())
    terminal.emit(page.as_object())


def _page(inventory: Inventory, redis: Reached) -> BackendsPage:
    """Ask Redis, if there is one, who serves what."""
    from producer.serving import serving
    from producer.view.backends_page import BackendsPage
    from skillopt.errors import StateError
    from skillopt.state.urls import redacted

    served, problem = None, redis.problem
    if redis.state is not None:
        try:
            served = serving(redis.state, inventory.limits)
        except StateError as error:
            problem = error
    return BackendsPage(
        inventory.backends,
        os.environ,
        served,
        redis=None if redis.url is None else redacted(redis.url),
        problem="" if problem is None else str(problem),
    )


def set_(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The backend's name.", show_default=False)
    ],
    limits: Annotated[
        list[str],
        typer.Argument(
            metavar="LIMIT=N…",
            help="rpm, tpm or concurrency; `none` gives the catalogue's back.",
            show_default=False,
        ),
    ],
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    json: JsonOption = False,
) -> None:
    """Limit a backend for all workers together, at once and without a restart.

    It holds over what the catalogue says until it is set to `none`; limits that are not named stay.
    A server lets only an admin do it.

    Examples:
      skillopt backends set gpt rpm=300 concurrency=8
      skillopt backends set gpt rpm=none --url https://queue.example.org --json
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.queue.setting import read_limits
    from producer.view.limits_page import limits_page
    from skillopt.errors import StateError

    terminal = Terminal.open(json=json)
    changes = read_limits(limits)
    with opened_queue(url, redis) as queue:
        queue.set_limits(name, changes)
        after = next((one for one in queue.fleet().backends if one.name == name), None)
    if after is None:
        raise StateError(f"the limits of {name!r} are set, but nothing serves it any more")
    terminal.show(*limits_page(after))
    terminal.emit(after.model_dump(mode="json"))


app = command_group(backends, {"list": list_, "set": set_}, FirstByDefault)

"""`skillopt backends`: which backends there are, and who serves them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from producer.cli.options import (
    BackendsOption,
    JsonOption,
    OptionalSpecArgument,
    PresentRedisOption,
    StoreOption,
    default_store,
)

if TYPE_CHECKING:
    from producer.attached import Reached
    from producer.inventory import Inventory
    from producer.view.backends_page import BackendsPage


def backends(
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
      skillopt backends --backends backends.yaml --json
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

"""`skillopt doctor`: would a run work from here?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import (
    BackendsOption,
    JsonOption,
    OptionalSpecArgument,
    PresentRedisOption,
    StoreOption,
    default_store,
)

if TYPE_CHECKING:
    from producer.cli.console import Terminal
    from producer.inventory import Inventory


def doctor(
    spec: OptionalSpecArgument = None,
    backends: BackendsOption = None,
    backend: Annotated[
        list[str] | None,
        typer.Option(
            "--backend",
            metavar="NAME",
            help="Look at this backend only. Repeatable. By default: those of the spec; without a "
            "spec, all that you have defined.",
            show_default=False,
        ),
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="Call no model: nothing is sent, nothing is paid.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Look at all a run needs: machine, Redis, workers, keys, models.

    Each backend gets one short call from this machine, with its own client and credential; an
    agent program makes it inside its isolated home. A call costs what a few tokens cost. No Redis
    and no simulator is started, no store is made, and no key is ever shown.

    Exit codes: 0 nothing failed (there may be warnings), 2 bad input, 4 something failed.

    Examples:
      skillopt doctor my-skill/spec.yaml
      skillopt doctor my-skill/spec.yaml --no-probe
      skillopt doctor --backend gpt --redis rediss://host:6379/0
    """
    from producer.cli.console import Terminal
    from skillopt.state.urls import state_url

    if redis is not None:
        state_url(redis)  # refuses what is not a URL, before anything is shown
    _examine(
        _inventory(spec, backends, backend or ()),
        redis=redis,
        store=store or default_store(spec),
        calls=not no_probe,
        terminal=Terminal.open(json=json),
    )


def _inventory(spec: Path | None, backends: Path | None, only: Sequence[str]) -> Inventory:
    from producer.inventory import InventoryReader
    from producer.published import published_revision

    return InventoryReader(os.environ, published_revision).read(spec, backends, only=only)


def _examine(
    inventory: Inventory, *, redis: str | None, store: Path, calls: bool, terminal: Terminal
) -> None:
    """Tell every finding as it comes; exits with 4 if something failed."""
    from producer.doctor.check import nothing_failed
    from producer.doctor.examination import Examination, Listener
    from producer.exit_codes import ExitCode
    from producer.view.doctor_page import calling_line, check_lines, closing_line, doctor_object

    checks = Examination(inventory, redis, store, os.environ, calls=calls).run(
        Listener(
            found=lambda check: terminal.show(check_lines(check)),
            calling=lambda labels: terminal.show(calling_line(labels)),
        )
    )
    terminal.show(closing_line(checks))
    terminal.emit(doctor_object(checks))
    if not nothing_failed(checks):
        raise typer.Exit(ExitCode.FAILED)

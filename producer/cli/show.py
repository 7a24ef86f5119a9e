"""`skillopt show`: what happened in a run, down to a single call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from producer.cli.options import (
    DEFAULT_STORE_NAME,
    JsonOption,
    RunArgument,
    StoreOption,
    default_store,
)

if TYPE_CHECKING:
    from producer.run_folder import RunFolder
    from skillopt.errors import InputError

_NAMED_STORES = 5


def show(
    run: RunArgument,
    step: Annotated[
        int | None,
        typer.Option("--step", metavar="N", min=1, help="One step: edits, gate, difference."),
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option(
            "--epoch", metavar="N", min=1, help="The end of an epoch: slow update, meta skill."
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="ID", help="Every attempt at one task, in full."),
    ] = None,
    call: Annotated[
        str | None,
        typer.Option(
            "--call", metavar="ID", help="One call in full, by its job id or a prefix of it."
        ),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show a run: scores and steps; one step, task or call in full.

    A call is shown with the messages sent, the reply, each check with its reason, what a model
    that judges was asked and said, tokens, cost, and whether it came from the cache or from which
    worker.

    Examples:
      skillopt show last --store my-skill/.skillopt
      skillopt show last --store my-skill/.skillopt --step 1
      skillopt show last --store my-skill/.skillopt --epoch 1
      skillopt show support-reply --store my-skill/.skillopt --task reply-01
    """
    from producer.cli.console import Terminal
    from producer.cli.show_parts import show_call, show_epoch, show_run, show_step, show_task
    from skillopt.errors import InputError

    if step is not None and epoch is not None:
        raise InputError(f"--step {step!r} and --epoch {epoch!r} exclude each other; give one")
    terminal = Terminal.open(json=json)
    folder = open_run(run, store)
    if call is not None:
        show_call(terminal, folder, call)
    elif task is not None:
        show_task(terminal, folder, task, step, epoch)
    elif step is not None:
        show_step(terminal, folder, step)
    elif epoch is not None:
        show_epoch(terminal, folder, epoch)
    else:
        show_run(terminal, folder)


def open_run(reference: str, store: Path | None) -> RunFolder:
    """Find a run by reference in a store, or by the path of its folder.

    Raises InputError, with what there is, if no run or more than one is meant.
    """
    from producer.run_folder import RunFolder, find_run

    path = Path(reference)
    if (path / "plan.json").is_file():
        return RunFolder(path)
    if store is None and not (default_store() / "runs").is_dir():
        raise _no_store_here()
    return find_run((store or default_store()) / "runs", reference)


def _no_store_here() -> InputError:
    """Say that runs are looked for in the working directory, and where there are some."""
    from skillopt.errors import InputError

    stores = sorted(str(path.parent) for path in Path().glob(f"*/{DEFAULT_STORE_NAME}/runs"))
    near = f"; there is one in {', '.join(map(repr, stores[:_NAMED_STORES]))}" if stores else ""
    return InputError(
        f"there is no store {DEFAULT_STORE_NAME!r} in the working directory{near}; name one with "
        "--store DIR, or give the run's folder"
    )

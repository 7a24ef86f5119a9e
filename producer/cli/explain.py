"""`skillopt explain`: in words, why a step was accepted or rejected."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption


def explain(
    run: RunArgument,
    step: Annotated[
        int | None, typer.Option("--step", metavar="N", min=1, help="The step to explain.")
    ] = None,
    epoch: Annotated[
        int | None,
        typer.Option("--epoch", metavar="N", min=1, help="The end of an epoch to explain."),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say in words what each step tried, and why it was kept or not.

    Without --step or --epoch, every step and epoch's end gets its paragraph. `skillopt show` has
    the records behind the words.

    Examples:
      skillopt explain last --store my-skill/.skillopt --step 2
      skillopt explain last --store my-skill/.skillopt --json
    """
    from producer.cli.console import Terminal
    from producer.cli.show import open_run
    from producer.view.explaining import explain_epoch, explain_run, explain_step
    from producer.view.printable import safe
    from skillopt.errors import InputError

    if step is not None and epoch is not None:
        raise InputError(f"--step {step!r} and --epoch {epoch!r} exclude each other; give one")
    terminal = Terminal.open(json=json)
    state = open_run(run, store).state()
    if step is not None:
        parts = [explain_step(state, step)]
    elif epoch is not None:
        parts = [explain_epoch(state, epoch)]
    else:
        parts = explain_run(state)
    for part in parts:
        terminal.show(safe(part.title, "bold"), *(safe(sentence) for sentence in part.sentences))
    terminal.emit(
        {
            "run": state.run,
            "parts": [{"title": part.title, "sentences": list(part.sentences)} for part in parts],
        }
    )

"""`skillopt blame`: where each line of a trained document comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption


def blame(
    run: RunArgument,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="DOCUMENT",
            help="best, final, initial, a step, e2 (the slow update of epoch 2), or a hash.",
        ),
    ] = "best",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Say of each line which step brought it, and what that gained.

    The tasks that it was learnt from are named too. The gain, on val, is that of the whole step:
    its edits were measured together. Lines of the document as you gave it have no step.

    Examples:
      skillopt blame last --store my-skill/.skillopt
      skillopt blame last --at 3 --json
    """
    from producer import blame as tracing
    from producer.cli.console import Terminal
    from producer.cli.show import open_run
    from producer.revisions import find_revision
    from producer.view.blame_page import blame_page

    terminal = Terminal.open(json=json)
    state = open_run(run, store).state()
    revision = find_revision(state, at, "--at")
    lines = tracing.blame(state, revision.key)
    terminal.show(*blame_page(revision, lines))
    rows = [line.model_dump(mode="json") for line in lines]
    terminal.emit({"run": state.run, "document": revision.key, "lines": rows})

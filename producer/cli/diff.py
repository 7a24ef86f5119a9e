"""`skillopt diff`: what a run changed in its documents."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption


def diff(
    run: RunArgument,
    from_: Annotated[
        str, typer.Option("--from", metavar="DOCUMENT", help="The document to start from.")
    ] = "initial",
    to: Annotated[
        str, typer.Option("--to", metavar="DOCUMENT", help="The document to end with.")
    ] = "best",
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Show what changed from the document you gave to the best one.

    Any other two documents of the run can be compared: a document is initial, best, final, the
    number of a step (its candidate), e2 (the slow update of epoch 2), or a hash.

    Examples:
      skillopt diff last --store my-skill/.skillopt
      skillopt diff last --from 2 --to final
    """
    from producer.cli.console import Terminal
    from producer.cli.show import open_run
    from producer.revisions import find_revision
    from producer.view.diff import documents_diff

    terminal = Terminal.open(json=json)
    state = open_run(run, store).state()
    before, after = find_revision(state, from_, "--from"), find_revision(state, to, "--to")
    text = documents_diff(
        before.documents, after.documents, before_name=before.label, after_name=after.label
    )
    terminal.show(text)
    same = before.documents == after.documents
    terminal.emit(
        {
            "run": state.run,
            "from": {"document": before.key, **before.documents.model_dump(mode="json")},
            "to": {"document": after.key, **after.documents.model_dump(mode="json")},
            "same": same,
            "diff": "" if same else text.plain,
        }
    )

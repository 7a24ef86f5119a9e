"""`skillopt export`: take a run's artifacts along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption


def export(
    run: RunArgument,
    destination: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder that does not exist yet, or is empty.",
            show_default=False,
        ),
    ],
    records: Annotated[
        bool,
        typer.Option(
            "--records/--no-records", help="With every call's messages and reply, or without."
        ),
    ] = True,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Copy a run's documents, log and records to a folder of yours.

    That is the best document, every candidate, the log, history, summary and (unless
    --no-records) the records of all calls.

    Everything in it can be read without this program but the records, which `skillopt show
    FOLDER` opens. Your own skill is not touched: taking best_skill.md over is up to you.

    Examples:
      skillopt export last my-run --store my-skill/.skillopt
      skillopt export last my-run --no-records --json
    """
    from producer.cli.console import Terminal
    from producer.cli.show import open_run
    from producer.exporting import export_run
    from producer.view.printable import safe

    terminal = Terminal.open(json=json)
    exported = export_run(open_run(run, store), destination, records=records)
    size = sum(file.bytes for file in exported.files)
    terminal.show(
        safe(f"{len(exported.files)} files ({size:,} bytes) of {exported.run} in {destination}")
    )
    terminal.emit(exported.model_dump(mode="json"))

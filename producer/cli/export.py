"""`skillopt export`: take a run's artifacts along."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption
from producer.cli.queue_options import QueueRedisOption, UrlOption


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
    url: UrlOption = None,
    redis: QueueRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Copy a run's documents, log and records to a folder of yours.

    That is the best document, every candidate, the log, history, summary and (unless
    --no-records) the records of all calls.

    Everything in it can be read without this program but the records, which `skillopt show
    FOLDER` opens. Your own skill is not touched: taking best_skill.md over is up to you.

    The run is looked for in the queue if one is named, by an option or by SKILLOPT_URL or
    SKILLOPT_REDIS_URL; --store, or a run's folder as RUN, means one on this machine.

    Examples:
      skillopt export last my-run --store my-skill/.skillopt
      skillopt export last my-run --no-records --json
      skillopt export brief-writer my-run --url https://queue.example.org
    """
    from producer.cli.console import Terminal
    from producer.cli.queue_options import opened_queue
    from producer.cli.show import open_run
    from producer.exporting import Exported, export_run
    from producer.view.printable import safe

    terminal = Terminal.open(json=json)
    if _is_in_queue(run, url, redis, store):
        with opened_queue(url, redis, store) as queue:
            brought = queue.export(run, destination, records=records)
        exported = Exported.model_validate(brought)
    else:
        exported = export_run(open_run(run, store), destination, records=records)
    size = sum(file.bytes for file in exported.files)
    terminal.show(
        safe(f"{len(exported.files)} files ({size:,} bytes) of {exported.run} in {destination}")
    )
    terminal.emit(exported.model_dump(mode="json"))


def _is_in_queue(run: str, url: str | None, redis: str | None, store: Path | None) -> bool:
    """Whether a run is meant that the queue has, rather than one of a folder on this machine."""
    from producer.queue.open import REDIS_VARIABLE, URL_VARIABLE

    if url is not None or redis is not None:
        return True
    if store is not None or os.sep in run or (Path(run) / "plan.json").is_file():
        return False
    return any(os.environ.get(name) for name in (URL_VARIABLE, REDIS_VARIABLE))

"""`skillopt report`: a run as one HTML file, with plots."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import JsonOption, RunArgument, StoreOption


def report(
    run: RunArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Where to write it. Without it, report.html in the run's folder.",
            show_default=False,
        ),
    ] = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Write one HTML file about a run: plots, scores, reasons.

    It needs nothing else: no network, no script, no other file. It can be mailed, printed and
    kept. A run that is still going on is told as far as it has come; give the command again for
    more. A folder from `skillopt export` will do as RUN too.

    Examples:
      skillopt report last --store my-skill/.skillopt
      skillopt report support-reply --out support-reply.html
    """
    from producer.cli.console import Terminal
    from producer.cli.show import open_run
    from producer.folder.durable import write_durably
    from producer.view.printable import safe
    from producer.view.report import report_html
    from skillopt.errors import InputError

    terminal = Terminal.open(json=json)
    folder = open_run(run, store)
    target = out or folder.path / "report.html"
    if target.is_dir():
        raise InputError(f"--out: {str(target)!r} is a folder; name a file in it")
    content = report_html(folder).encode()
    try:
        write_durably(target, content)
    except OSError as error:
        raise InputError(
            f"{str(target)!r} cannot be written: {error.strerror}; name another file with --out"
        ) from error
    terminal.show(safe(f"Report of {folder.path.name} ({len(content):,} bytes): {target}"))
    terminal.emit({"run": folder.path.name, "file": str(target.resolve()), "bytes": len(content)})

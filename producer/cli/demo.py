"""`skillopt demo`: a whole run in under a minute, nothing set up beforehand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import (
    DEFAULT_STORE_NAME,
    ConcurrencyOption,
    JsonOption,
    NewOption,
    QuietOption,
    WorkersOption,
)

DEMO_WORKERS = 1


def demo(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where the demo's files and results go.")
    ] = Path("skillopt-demo"),
    workers: WorkersOption = DEMO_WORKERS,
    concurrency: ConcurrencyOption = None,
    new: NewOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Watch a skill being trained by a simulated model, in a minute.

    It has a private Redis and real workers; only the model is simulated. The demo's spec, skill and
    tasks are written to DIR, so you can change them and run again. Given again in the same place it
    calls no model: the run is finished.

    \b
    Example:
      skillopt demo
    """
    from producer.cli.console import Terminal
    from producer.cli.init import copy_example
    from producer.cli.run import run_and_report
    from producer.published import published_revision
    from producer.session import SessionOptions
    from skillopt.config.load import load_plan
    from skillopt.config.packaged import configs_dir

    spec = folder / "spec.yaml"
    if not spec.exists():
        copy_example(configs_dir() / "demo", folder)
    # The demo brings its own simulator; a simulator of the user's does not matter here.
    environ = {name: value for name, value in os.environ.items() if name != "SIM_URL"}
    loaded = load_plan(spec, environ=environ, publish_revision=published_revision)
    options = SessionOptions(
        store=folder / DEFAULT_STORE_NAME,
        command="skillopt demo",
        workers=workers,
        concurrency=concurrency,
    )
    run_and_report(loaded, options, Terminal.open(json=json, quiet=quiet), new=new)

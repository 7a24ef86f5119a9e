"""`skillopt aa`: how far apart do equal documents come out?"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import (
    DEFAULT_WORKERS,
    BackendsOption,
    CacheOption,
    ConcurrencyOption,
    JsonOption,
    LimitOption,
    NewOption,
    QuietOption,
    RedisOption,
    SetOption,
    SpecArgument,
    StoreOption,
    WorkersOption,
    default_store,
)


def aa(
    spec: SpecArgument,
    arms: Annotated[
        int, typer.Option("--arms", metavar="N", help="Measurements to compare with each other.")
    ] = 4,
    skill: Annotated[
        Path | None,
        typer.Option("--skill", metavar="FILE", help="The document; by default the spec's own."),
    ] = None,
    backends: BackendsOption = None,
    redis: RedisOption = None,
    store: StoreOption = None,
    workers: WorkersOption = DEFAULT_WORKERS,
    concurrency: ConcurrencyOption = None,
    set_: SetOption = None,
    limit: LimitOption = None,
    cache: CacheOption = None,
    new: NewOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure the noise: how far apart do equal documents come out?

    One document is measured on val several times, each time with samples of its own, so that all
    that differs is chance. It tells how large a gain must be to mean anything with your tasks,
    model and samples, and how often the gate as you set it would have accepted a document that is
    no better. With significance, one gate by itself is meant: in a run all gates share that error.

    Examples:
      skillopt aa my-skill/spec.yaml
      skillopt aa my-skill/spec.yaml --arms 6 --set evaluation.samples=3 --json
    """
    from producer.cli.console import Terminal
    from producer.cli.run import run_and_report
    from producer.published import published_revision
    from producer.session import SessionOptions
    from skillopt.config.load import load_aa_plan

    loaded = load_aa_plan(
        spec,
        arms=arms,
        skill_path=skill,
        backends_file=backends,
        environ=os.environ,
        overrides=set_ or (),
        limit=limit,
        cache=cache,
        publish_revision=published_revision,
    )
    options = SessionOptions(
        store=store or default_store(spec),
        command=f"skillopt aa {spec}",
        redis_url=redis,
        workers=workers,
        concurrency=concurrency,
    )
    run_and_report(loaded, options, Terminal.open(json=json, quiet=quiet), new=new)

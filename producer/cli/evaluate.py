"""`skillopt eval`: score a document, no training."""

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


def evaluate(
    spec: SpecArgument,
    skill: Annotated[
        Path | None,
        typer.Option("--skill", metavar="FILE", help="The document; by default the spec's own."),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            "--memory", metavar="FILE", help="The memory document; by default the spec's."
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="train, val or test.")] = "test",
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
    """Score a document on one split, without training.

    Results are shared with runs: what is known costs nothing.

    Examples:
      skillopt eval my-skill/spec.yaml --skill my-skill/SKILL.md --split test
      skillopt eval my-skill/spec.yaml --split val --json
    """
    from producer.cli.console import Terminal
    from producer.cli.run import run_and_report
    from producer.published import published_revision
    from producer.session import SessionOptions
    from skillopt.config.load import load_eval_plan

    loaded = load_eval_plan(
        spec,
        skill_path=skill,
        memory_path=memory,
        split=split,
        backends_file=backends,
        environ=os.environ,
        overrides=set_ or (),
        limit=limit,
        cache=cache,
        publish_revision=published_revision,
    )
    options = SessionOptions(
        store=store or default_store(spec),
        command=f"skillopt eval {spec}",
        redis_url=redis,
        workers=workers,
        concurrency=concurrency,
    )
    run_and_report(loaded, options, Terminal.open(json=json, quiet=quiet), new=new)

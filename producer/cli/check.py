"""`skillopt check`: is this spec ready to run?"""

from __future__ import annotations

import os
from typing import Annotated

import typer

from producer.cli.options import (
    BackendsOption,
    CacheOption,
    JsonOption,
    LimitOption,
    SetOption,
    SpecArgument,
)


def check(
    spec: SpecArgument,
    backends: BackendsOption = None,
    set_: SetOption = None,
    limit: LimitOption = None,
    cache: CacheOption = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Refuse tasks that look suspicious, instead of only warning of them."
        ),
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show the value of every key and where it came from."),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Validate a spec and all in it: tasks, judges, backends, keys.

    Nothing is started and no model is called. Every problem is listed with file, line or key,
    value and fix. Tasks are also looked at as a whole: one answer that is right too often, judges
    that look at nothing but shape, near duplicates across splits.

    Examples:
      skillopt check my-skill/spec.yaml
      skillopt check my-skill/spec.yaml --strict
      skillopt check my-skill/spec.yaml --explain --set train.num_epochs=4
    """
    from producer.cli.console import Terminal
    from producer.published import published_revision
    from producer.view.check_page import check_object, check_page, explain_object, explain_page
    from skillopt.config.catalogue import require_credentials
    from skillopt.config.load import load_plan
    from skillopt.errors import TaskError

    terminal = Terminal.open(json=json)
    loaded = load_plan(
        spec,
        backends_file=backends,
        environ=os.environ,
        overrides=set_ or (),
        limit=limit,
        cache=cache,
        publish_revision=published_revision,
    )
    require_credentials(loaded.backends.values(), os.environ)
    if strict and loaded.lint:
        raise TaskError("\n".join(loaded.lint))
    if not json:
        for warning in loaded.warnings:
            terminal.warn(warning)
    if explain:
        terminal.show(explain_page(loaded))
    terminal.show(*check_page(loaded))
    terminal.emit(check_object(loaded) | (explain_object(loaded) if explain else {}))

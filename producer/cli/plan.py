"""`skillopt plan`: what a run will cost and what it can find, before anything is spent."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from producer.cli.options import (
    BackendsOption,
    JsonOption,
    LimitOption,
    SetOption,
    SpecArgument,
)


def plan(
    spec: SpecArgument,
    baseline: Annotated[
        float,
        typer.Option(
            "--baseline",
            metavar="P",
            min=0.0,
            max=0.99,
            help="The pass rate you expect of the document as it is, for the smallest effect.",
        ),
    ] = 0.5,
    backends: BackendsOption = None,
    set_: SetOption = None,
    limit: LimitOption = None,
    json: JsonOption = False,
) -> None:
    """Foresee what a run will cost and what it can find.

    That is calls, tokens and money by phase, the steps that the budget buys, and the smallest
    improvement that the gate would notice. No model is called.

    The figures are upper bounds: every step brings a candidate, every gate looks at all its
    tasks, nothing is cached. Retries and repairs are not in them. A budget that does not pay for
    the baseline and one step is refused (exit 2).

    Examples:
      skillopt plan my-skill/spec.yaml
      skillopt plan my-skill/spec.yaml --set evaluation.samples=3 --set evaluation.significance=0.05
      skillopt plan my-skill/spec.yaml --baseline 0.2 --json
    """
    from producer.cli.console import Terminal
    from producer.planning import plan_ahead
    from producer.published import published_revision
    from producer.view.plan_page import plan_page
    from skillopt.config.load import load_plan

    terminal = Terminal.open(json=json)
    loaded = load_plan(
        spec,
        backends_file=backends,
        environ=os.environ,
        overrides=set_ or (),
        limit=limit,
        publish_revision=published_revision,
    )
    ahead = plan_ahead(loaded.plan, loaded.backends, baseline=baseline)
    for warning in loaded.warnings:
        terminal.warn(warning)
    terminal.show(*plan_page(ahead))
    terminal.emit(ahead.model_dump(mode="json") | {"warnings": list(loaded.warnings)})

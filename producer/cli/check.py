"""`skillopt check`: is this spec ready to run?"""

from __future__ import annotations

import os

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
    json: JsonOption = False,
) -> None:
    """Validate a spec with everything it names: skill, tasks, judges, backends, keys, prices.

    Nothing is started and no model is called. Every problem is listed with file, line or key,
    value and fix.

    Example:
      skillopt check my-skill/spec.yaml
    """
    from producer.cli.console import Terminal
    from producer.embedded.simulators import published_revision
    from producer.view.check_page import check_object, check_page
    from skillopt.config.catalogue import require_credentials
    from skillopt.config.load import load_plan

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
    if not json:
        for warning in loaded.warnings:
            terminal.warn(warning)
    terminal.show(*check_page(loaded))
    terminal.emit(check_object(loaded))

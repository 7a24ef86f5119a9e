"""`skillopt restore`: a run that its Redis has lost, put back from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from producer.cli.options import JsonOption, PresentRedisOption, StoreOption


def restore(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_DIR",
            help="The folder of a run: STORE/runs/RUN, or a copy of it.",
            show_default=False,
        ),
    ],
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Put a run back that its Redis has lost, from its folder.

    Log, results and spending come out as they were, so every decision stays the same. What had
    not reached the folder, which is what was in flight, is paid for again. `skillopt run SPEC`
    does the same by itself when it finds the folder of a run that its Redis does not have.
    Sums of owners and teams are not changed. Repeating it is harmless; a run that somebody is at
    work on is not touched.

    The store is the one that RUN_DIR lies in; with --store another one, which gets a copy.

    Examples:
      skillopt restore my-skill/.skillopt/runs/my-skill-3f9a2c41d0ab
      skillopt restore /backup/my-skill-3f9a2c41d0ab --store my-skill/.skillopt
      skillopt restore /shared/store/runs/my-skill-3f9a2c41d0ab --redis redis://team-redis:6379/0
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.placing import placed, store_for
    from producer.restoring import restore as restore_run
    from producer.restoring import restored_words
    from producer.run_folder import RunFolder
    from producer.view.printable import safe

    terminal = Terminal.open(json=json)
    source = RunFolder(folder)
    plan = source.read_plan()
    where = store_for(folder, store)
    with attached(redis, where, command="skillopt restore", create=True) as state:
        target = placed(source, where, plan.run_id)
        done = restore_run(state, target)
    terminal.show(safe(restored_words(done)))
    if done.status != "finished":
        shared = " --redis URL" if redis is not None else ""
        terminal.show(
            safe(f"To continue it:  skillopt run SPEC --store {where}{shared}", "bold"),
        )
    terminal.emit(
        {**done.model_dump(mode="json"), "run_dir": str(target.path), "store": str(where)}
    )

"""`skillopt dead`: jobs that could not be run; trying them again, or doing without them."""

from __future__ import annotations

from typing import Annotated

import typer

from producer.cli.help_text import help_text
from producer.cli.options import (
    JsonOption,
    PresentRedisOption,
    RunArgument,
    StoreOption,
    default_store,
)

_JOB_HELP = "A job's id, or its first digits (4 or more), as `skillopt dead list` shows them."


def dead() -> None:
    """Look after jobs that could not be run: list, retry, do without.

    A job whose worker dies under it twice goes to quarantine, where it runs alone; after three
    more losses it is dead. A job whose backend fails again and again is given up by its run. A
    run goes on without such jobs as far as `evaluation.min_coverage` allows, else it pauses.

    Examples:
      skillopt dead list --store my-skill/.skillopt
      skillopt dead retry --all --store my-skill/.skillopt
    """


def list_(
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Those of one run, even a finished one."),
    ] = None,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """List dead jobs, and jobs that unfinished runs have given up: where, why, since when.

    Examples:
      skillopt dead list --store my-skill/.skillopt
      skillopt dead list --run last --redis redis://team-redis:6379/0 --json
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.dead import dead_letters
    from producer.known_runs import KnownRuns
    from producer.view.dead_page import list_page

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt dead list") as state:
        runs = KnownRuns(state)
        letters = dead_letters(state, runs, None if run is None else runs.id_of(run))
    terminal.show(*list_page(letters))
    terminal.emit({"jobs": [one.model_dump(mode="json") for one in letters]})


def show(
    job: Annotated[str, typer.Argument(metavar="JOB", help=_JOB_HELP, show_default=False)],
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Tell all that is known of one such job, and what can be done about it.

    Examples:
      skillopt dead show 3f9a2c41 --store my-skill/.skillopt
      skillopt dead show 3f9a2c41 --redis redis://team-redis:6379/0 --json
    """
    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.dead import dead_letters, meant
    from producer.known_runs import KnownRuns
    from producer.view.dead_page import show_page

    terminal = Terminal.open(json=json)
    with attached(redis, store or default_store(), command="skillopt dead show") as state:
        letters = meant(dead_letters(state, KnownRuns(state), finished=True), [job])
    terminal.show(*show_page(letters))
    terminal.emit({"jobs": [one.model_dump(mode="json") for one in letters]})


def retry(
    jobs: Annotated[
        list[str] | None, typer.Argument(metavar="JOB", help=_JOB_HELP, show_default=False)
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="All those of one run.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All there are.")] = False,
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Forget what went wrong with jobs, so that they are sent anew.

    A run that paused for lack of them may go on: at once if a coordinator looks after it, else
    by the command that started it. What is still wrong shows again, in the same way.

    Examples:
      skillopt dead retry 3f9a2c41 77ab01 --store my-skill/.skillopt
      skillopt dead retry --run last --store my-skill/.skillopt
      skillopt dead retry --all --redis redis://team-redis:6379/0
    """
    import time

    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.dead import dead_letters, meant
    from producer.dead import retry as retry_letters
    from producer.known_runs import KnownRuns
    from producer.view.dead_page import list_page, retried_page
    from skillopt.errors import InputError

    terminal = Terminal.open(json=json)
    if sum((bool(jobs), run is not None, everything)) != 1:
        raise InputError("say which jobs to try again: JOB…, or --run RUN, or --all; one of them")
    where = store or default_store()
    with attached(redis, where, command="skillopt dead retry") as state:
        runs = KnownRuns(state)
        letters = dead_letters(
            state, runs, None if run is None else runs.id_of(run), finished=bool(jobs)
        )
        letters = meant(letters, jobs) if jobs else letters
        done = retry_letters(state, runs, letters, time.sleep, where / "runs")
    count = len({one.job for one in letters})
    terminal.show(*(retried_page(done, count) if letters else list_page(letters)))
    terminal.emit({"jobs": count, "runs": [one.model_dump(mode="json") for one in done]})


def exclude(
    run: RunArgument,
    task: Annotated[
        list[str],
        typer.Option(
            "--task", metavar="ID", help="The task to do without. Repeatable.", show_default=False
        ),
    ],
    redis: PresentRedisOption = None,
    store: StoreOption = None,
    json: JsonOption = False,
) -> None:
    """Leave a task out of both arms of every comparison for the rest of a run.

    The same as `skillopt run SPEC --leave-out ID`, for a run that is under way or paused. It is
    recorded, and every coverage figure still counts the task. A run that paused for lack of it
    may go on. With --redis, name its store too: the run's folder then has it at once.

    Examples:
      skillopt dead exclude last --task reply-07 --store my-skill/.skillopt
      skillopt dead exclude support-reply --task t1 --task t2 --redis redis://team-redis:6379/0
    """
    import time

    from producer.attached import attached
    from producer.cli.console import Terminal
    from producer.dead import exclude as exclude_tasks
    from producer.known_runs import KnownRuns
    from producer.view.dead_page import excluded_page

    terminal = Terminal.open(json=json)
    where = store or default_store()
    with attached(redis, where, command="skillopt dead exclude") as state:
        known = KnownRuns(state).find(run)
        done = exclude_tasks(state, known, task, time.sleep, where / "runs")
    terminal.show(*excluded_page(done, task))
    terminal.emit({"tasks": task, **done.model_dump(mode="json", exclude={"jobs"})})


app = typer.Typer(
    name="dead",
    no_args_is_help=True,
    help=help_text(dead),
    context_settings={"help_option_names": ["-h", "--help"]},
)
for _name, _command in (("list", list_), ("show", show), ("retry", retry), ("exclude", exclude)):
    app.command(_name, help=help_text(_command))(_command)

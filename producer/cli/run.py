"""`skillopt run`: one run, here, to its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from producer.cli.options import (
    DEFAULT_WORKERS,
    BackendsOption,
    CacheOption,
    ConcurrencyOption,
    JsonOption,
    LeaveOutOption,
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

if TYPE_CHECKING:
    from producer.cli.console import Terminal
    from producer.session import Ended, SessionOptions
    from skillopt.config.load import LoadedSpec


def run(
    spec: SpecArgument,
    backends: BackendsOption = None,
    redis: RedisOption = None,
    store: StoreOption = None,
    workers: WorkersOption = DEFAULT_WORKERS,
    concurrency: ConcurrencyOption = None,
    set_: SetOption = None,
    limit: LimitOption = None,
    cache: CacheOption = None,
    leave_out: LeaveOutOption = None,
    new: NewOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Train a skill to the end; the same command again continues.

    A run that is finished is shown instead. Workers, coordinator and (without --redis) a private
    Redis are started and ended with the command. Ctrl-C leaves nothing running; whatever is killed,
    nothing finished is paid twice.

    Exit codes: 0 finished, 2 bad input, 3 budget used up, 4 failed, 130 interrupted.

    Examples:
      skillopt run my-skill/spec.yaml
      skillopt run my-skill/spec.yaml --workers 4 --set train.num_epochs=1
      skillopt run my-skill/spec.yaml --limit 4 --json
    """
    from producer.cli.console import Terminal
    from producer.published import published_revision
    from producer.session import SessionOptions
    from skillopt.config.load import load_plan

    loaded = load_plan(
        spec,
        backends_file=backends,
        environ=os.environ,
        overrides=set_ or (),
        limit=limit,
        cache=cache,
        publish_revision=published_revision,
    )
    options = SessionOptions(
        store=store or default_store(spec),
        command=f"skillopt run {spec}",
        redis_url=redis,
        workers=workers,
        concurrency=concurrency,
        leave_out=left_out(loaded, leave_out or ()),
    )
    run_and_report(loaded, options, Terminal.open(json=json, quiet=quiet), new=new)


def left_out(loaded: LoadedSpec, tasks: Sequence[str]) -> dict[str, str]:
    """Give the tasks to leave out and why; raises InputError for one the run does not have."""
    from skillopt.domain.item import SPLITS
    from skillopt.errors import InputError

    known = {item.id for split in SPLITS for item in loaded.plan.splits.of(split)}
    for task in tasks:
        if task not in known:
            raise InputError(
                f"--leave-out: the run has no task {task!r}; give the id of one, as "
                "`skillopt show RUN` names it"
            )
    return dict.fromkeys(tasks, "left out by --leave-out")


def run_and_report(
    loaded: LoadedSpec, options: SessionOptions, terminal: Terminal, *, new: bool = False
) -> None:
    """Run a loaded spec with a live view, then say what came of it; exits unless all is well."""
    from producer.session import finished_before, replica_of
    from producer.summary import exit_code
    from producer.view.final import final_report
    from skillopt.config.catalogue import require_credentials
    from skillopt.state.urls import state_url

    require_credentials(loaded.backends.values(), os.environ)
    if options.redis_url is not None:
        state_url(options.redis_url)  # refuses what is not a URL, before anything is written
    for warning in loaded.warnings:
        terminal.warn(warning)
    if new:
        loaded = replica_of(loaded, options.store)
    ended = finished_before(loaded, options.store) or _watch(loaded, options, terminal)
    state = ended.state
    # The folder of a run that was finished before may have been moved since.
    run_dir = (options.store / "runs" / loaded.plan.run_id).resolve()
    here = {"run_dir": str(run_dir), "skill": str(loaded.skill_path)}
    summary = ended.summary.model_copy(update=here)
    texts = {"initial": state.plan.initial, "best": state.texts[state.best]}
    terminal.show(*final_report(summary, **texts, new=new))
    terminal.emit(summary.model_dump(mode="json"))
    code = exit_code(state)
    if code:
        raise typer.Exit(code)


def _watch(loaded: LoadedSpec, options: SessionOptions, terminal: Terminal) -> Ended:
    from producer.earlier_run import latest_other
    from producer.session import Watcher, run_to_end
    from producer.view.live import LiveView
    from producer.view.printable import safe
    from skillopt.config.difference import describe_changes
    from skillopt.loop.sample import total_steps

    def note(text: str) -> None:
        terminal.err.print(safe(text, "cyan"), soft_wrap=True)

    # Every measurement is another one; only of a training does a person expect that it continues.
    other = latest_other(options.store, loaded) if loaded.plan.mode == "train" else None
    if other is not None and not (options.store / "runs" / loaded.plan.run_id).exists():
        note(f"a new run: it differs from {other.path.name} in")
        for change in describe_changes(other.read_plan(), loaded.plan):
            note(f"  {change}")
    steps = total_steps(loaded.plan) if loaded.plan.mode == "train" else 0
    with LiveView(terminal.err, enabled=terminal.live, total_steps=steps) as view:
        watcher = Watcher(event=view.event, update=view.update, note=note)
        return run_to_end(loaded, options, watcher)

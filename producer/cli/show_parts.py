"""The parts of `skillopt show`: a run, a step, a task, a call, for people and programs."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from producer.cli.console import Terminal
from producer.minutes import active_seconds
from producer.records import CallRecord, OptimizerRecord
from producer.run_folder import RunFolder
from producer.summary import Summary, summarize
from producer.view.call_page import call_page
from producer.view.printable import safe
from producer.view.run_page import run_page, step_row
from producer.view.step_page import candidate_diff, step_page
from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import SPLITS
from skillopt.domain.run import RunState, StepState
from skillopt.errors import InputError
from skillopt.state.ports import Spend

_LISTED_CALLS = 8


def show_run(terminal: Terminal, folder: RunFolder) -> None:
    """Show the overview. A run without a summary is summarized from its log, without its cost."""
    state = folder.state()
    stored = folder.read_summary()
    # A folder may have been moved since: it is shown where it is.
    here = {"run_dir": str(folder.path.resolve())}
    summary = stored.model_copy(update=here) if stored else _from_log(folder, state)
    ascii_only = terminal.out.options.ascii_only
    terminal.show(
        *run_page(state, summary, ascii_only=ascii_only, measured_work=stored is not None)
    )
    scores = summary.model_dump(mode="json", include={"initial", "best", "final", "evaluated"})
    terminal.emit(
        {
            "run": state.run,
            "state": state.status,
            "reason": summary.reason,
            **scores,
            "steps": [step_row(step) for step in state.steps],
            "summary": stored.model_dump(mode="json") if stored else None,
            "run_dir": summary.run_dir,
        }
    )


def show_step(terminal: Terminal, folder: RunFolder, number: int) -> None:
    """Show one step; raises InputError with the steps there are if it is not among them."""
    state = folder.state()
    step = _step_of(state, number)
    terminal.show(*step_page(state, step))
    parts = ("started", "reflected", "merged", "selected", "proposed", "skipped", "gated")
    events = {name: getattr(step, name) for name in parts}
    terminal.emit(
        {
            "run": state.run,
            **step_row(step),
            **{name: event and event.model_dump(mode="json") for name, event in events.items()},
            "diff": candidate_diff(state, step).plain if step.proposed else None,
        }
    )


def show_task(terminal: Terminal, folder: RunFolder, task: str, step: int | None) -> None:
    """Show every attempt at a task, or those of one step."""
    state = folder.state()
    known = [item.id for split in SPLITS for item in state.plan.splits.of(split)]
    if task not in known:
        raise InputError(
            f"run {state.run!r} has no task {task!r}; {did_you_mean(task, known, 'tasks')}"
        )
    if step is not None:
        _step_of(state, step)
    records = list(folder.records(step=step, item=task))
    if not records:
        where = f" in step {step}" if step is not None else ""
        terminal.show(Text(f"There is no record of task {task!r}{where} yet.", style="dim"))
    for record in records:
        terminal.show(*call_page(record, priced=_priced(folder)), Text())
    shown = [record.model_dump(mode="json") for record in records]
    terminal.emit({"run": state.run, "task": task, "step": step, "records": shown})


def show_call(terminal: Terminal, folder: RunFolder, job: str) -> None:
    """Show one job by a prefix of its id; raises InputError unless exactly one is meant."""
    records = list(folder.records(job=job)) if job else []
    found = dict.fromkeys(_job_of(record) for record in records)
    if not found:
        raise InputError(
            f"no recorded call of {folder.path.name!r} has an id that begins with {job!r}; "
            "`skillopt show RUN --task ID` lists ids"
        )
    if len(found) > 1:
        listed = ", ".join(list(found)[:_LISTED_CALLS])
        raise InputError(f"{job!r} means {len(found)} calls: {listed}; give more of the id")
    terminal.show(*call_page(records[0], priced=_priced(folder)))
    stages = [record.stage for record in records]
    if len(stages) > 1:
        terminal.show(safe(f"This result was used in: {', '.join(stages)}", "dim"))
    call: dict[str, Any] = records[0].model_dump(mode="json")
    terminal.emit({"run": folder.path.name, "call": call, "stages": stages})


def _step_of(state: RunState, number: int) -> StepState:
    for step in state.steps:
        if step.started.step == number:
            return step
    there = f"steps 1 to {len(state.steps)}" if state.steps else "no step yet"
    raise InputError(f"run {state.run!r} has no step {number!r}; it has {there}")


def _job_of(record: CallRecord) -> str:
    return (record.job or "") if isinstance(record, OptimizerRecord) else record.rollout


def _priced(folder: RunFolder) -> bool:
    """Whether costs are known; before a summary exists they are not."""
    summary = folder.read_summary()
    return summary is not None and summary.cost_usd is not None


def _from_log(folder: RunFolder, state: RunState) -> Summary:
    return summarize(
        state,
        skill="",
        spend=Spend(),
        cache_hits=0,
        seconds=active_seconds(folder.read_entries()),
        run_dir=str(folder.path.resolve()),
        priced=False,
    )

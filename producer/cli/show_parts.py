"""The parts of `skillopt show`: a run, a step, a task, a call, for people and programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text

from producer.cli.console import Terminal
from producer.records import CallRecord, OptimizerRecord
from producer.run_folder import RunFolder
from producer.summary_from_log import summary_from_log
from producer.timeline import Part
from producer.view.call_page import attachment_line, call_page
from producer.view.diff import skill_diff
from producer.view.epoch_page import epoch_page, epoch_row
from producer.view.printable import safe
from producer.view.run_page import run_page, step_row
from producer.view.step_page import step_page
from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import SPLITS
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.errors import InputError

_LISTED_CALLS = 8
_STEP_EVENTS = (
    "started", "reflected", "merged", "budget", "selected", "noted", "proposed", "skipped", "gated",
)  # fmt: skip
_SCORES = {"initial", "best", "final", "evaluated", "noise"}
_END_EVENTS = ("compared", "proposed", "skipped", "gated", "meta")


def show_run(terminal: Terminal, folder: RunFolder) -> None:
    """Show the overview. A run without a summary is summarized from its log, without its cost."""
    state = folder.state()
    stored = folder.read_summary()
    # A folder may have been moved since: it is shown where it is.
    here = {"run_dir": str(folder.path.resolve())}
    summary = stored.model_copy(update=here) if stored else summary_from_log(folder, state)
    ascii_only = terminal.out.options.ascii_only
    terminal.show(
        *run_page(state, summary, ascii_only=ascii_only, measured_work=stored is not None)
    )
    scores = summary.model_dump(mode="json", include=_SCORES)
    terminal.emit(
        {
            "run": state.run,
            "state": state.status,
            "reason": summary.reason,
            **scores,
            "steps": [step_row(step) for step in state.steps],
            "epoch_ends": [epoch_row(end) for end in state.epoch_ends.values()],
            "left_out": state.left_out,
            "summary": stored.model_dump(mode="json") if stored else None,
            "run_dir": summary.run_dir,
        }
    )


def show_step(terminal: Terminal, folder: RunFolder, number: int) -> None:
    """Show one step; raises InputError with the steps there are if it is not among them."""
    state = folder.state()
    step = _step_of(state, number)
    calls = _optimizer_calls(folder.records(step=number))
    terminal.show(*step_page(state, step, calls))
    events = _events(step, _STEP_EVENTS)
    diffs = _diffs(state, step)
    terminal.emit({"run": state.run, **step_row(step), **events, **diffs, "calls": _listed(calls)})


def show_epoch(terminal: Terminal, folder: RunFolder, number: int) -> None:
    """Show an epoch's end; raises InputError with those there are if it is not among them."""
    state = folder.state()
    end = _end_of(state, number)
    records = (record for record in folder.records() if record.epoch_end == number)
    calls = _optimizer_calls(records)
    terminal.show(*epoch_page(state, end, calls))
    events = _events(end, _END_EVENTS)
    diffs = _diffs(state, end)
    terminal.emit({"run": state.run, **epoch_row(end), **events, **diffs, "calls": _listed(calls)})


def show_task(
    terminal: Terminal, folder: RunFolder, task: str, step: int | None, epoch: int | None = None
) -> None:
    """Show every attempt at a task, or those of one step or one epoch's end."""
    state = folder.state()
    known = {item.id: item for split in SPLITS for item in state.plan.splits.of(split)}
    if task not in known:
        raise InputError(
            f"run {state.run!r} has no task {task!r}; {did_you_mean(task, list(known), 'tasks')}"
        )
    attachments = known[task].prompt.attachments
    if step is not None:
        _step_of(state, step)
    if epoch is not None:
        _end_of(state, epoch)
    found = folder.records(step=step, item=task)
    records = [record for record in found if epoch in (None, record.epoch_end)]
    if task in state.left_out:
        why = state.left_out[task] or "no reason was given"
        terminal.show(safe(f"This task is left out of every comparison: {why}", "yellow"))
    terminal.show(*map(attachment_line, attachments))
    if not records:
        where = f" in step {step}" if step is not None else ""
        where = f" at the end of epoch {epoch}" if epoch is not None else where
        terminal.show(Text(f"There is no record of task {task!r}{where} yet.", style="dim"))
    for record in records:
        terminal.show(*call_page(record, priced=_priced(folder)), Text())
    shown = [record.model_dump(mode="json") for record in records]
    files = [one.model_dump(mode="json") for one in attachments]
    terminal.emit(
        {
            "run": state.run,
            "task": task,
            "step": step,
            "epoch": epoch,
            "attachments": files,
            "records": shown,
        }
    )


def show_call(terminal: Terminal, folder: RunFolder, job: str) -> None:
    """Show one job by a prefix of its id, or an optimizer call by its label.

    Raises InputError unless exactly one is meant.
    """
    records = list(folder.records(job=job)) or _labelled(folder, job) if job else []
    found = dict.fromkeys(_job_of(record) for record in records)
    if not found:
        raise InputError(
            f"no recorded call of {folder.path.name!r} has an id that begins with {job!r}; "
            "`skillopt show RUN --task ID` and `--step N` list ids"
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


def _end_of(state: RunState, number: int) -> EpochEnd:
    if number in state.epoch_ends:
        return state.epoch_ends[number]
    there = ", ".join(map(str, state.epoch_ends)) or "none yet"
    raise InputError(
        f"run {state.run!r} has no record of the end of epoch {number!r}; "
        f"it has those of epochs: {there}"
    )


def _optimizer_calls(records: Iterable[CallRecord]) -> list[OptimizerRecord]:
    return [record for record in records if isinstance(record, OptimizerRecord)]


def _labelled(folder: RunFolder, label: str) -> list[CallRecord]:
    return [record for record in _optimizer_calls(folder.records()) if record.label == label]


def _listed(calls: Sequence[OptimizerRecord]) -> list[dict[str, str | None]]:
    return [{"label": call.label, "call": call.call, "job": call.job} for call in calls]


def _events(part: Part, names: Sequence[str]) -> dict[str, Any]:
    events = {name: getattr(part, name) for name in names}
    return {name: event and event.model_dump(mode="json") for name, event in events.items()}


def _diffs(state: RunState, part: Part) -> dict[str, str | None]:
    """Give what a candidate changes, by document; null without one."""
    proposed = part.proposed
    if proposed is None:
        return {"diff": None, "memory_diff": None}
    before, after = state.texts[proposed.parent], proposed.documents
    names = {"before_name": "current", "after_name": "candidate"}
    memory = None
    if after.memory is not None:
        memory = skill_diff(before.memory or "", after.memory, **names).plain
    return {"diff": skill_diff(before.skill, after.skill, **names).plain, "memory_diff": memory}


def _job_of(record: CallRecord) -> str:
    return (record.job or "") if isinstance(record, OptimizerRecord) else record.rollout


def _priced(folder: RunFolder) -> bool:
    """Whether costs are known; before a summary exists they are not."""
    summary = folder.read_summary()
    return summary is not None and summary.cost_usd is not None

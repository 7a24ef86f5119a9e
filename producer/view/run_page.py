"""A run at a glance: its state, scores, curve and steps."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.summary import Summary
from producer.view import numbers
from producer.view.curve import curve_points, legend, plot
from producer.view.final import work_lines
from producer.view.printable import one_line, safe
from producer.view.scores import score_table
from producer.view.words import status_words, step_outcome, step_words
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState, StepState

_CURVE_WIDTH = 76
_STYLES = {"accepted": "green", "rejected": "red", "skipped": "dim", "undecided": "yellow"}


def run_page(
    state: RunState, summary: Summary, *, ascii_only: bool, measured_work: bool
) -> list[RenderableType]:
    """Give the overview of a run; `measured_work` says whether calls and cost are known."""
    parts: list[RenderableType] = [
        safe(state.run, "bold"),
        safe(status_words(state)),
        Text(),
        score_table(summary),
    ]
    if measured_work:
        parts += [safe(line) for line in work_lines(summary)]
    parts += [safe(f"warning: {one_line(warning, 500)}", "yellow") for warning in summary.warnings]
    if state.plan.mode == "train":
        metric = state.plan.settings.evaluation.gate_metric
        title = f"val {metric} by step   {legend(ascii_only=ascii_only)}"
        drawn = plot(curve_points(state), width=_CURVE_WIDTH, ascii_only=ascii_only)
        parts += [Text(), Text(title, style="bold"), drawn, Text(), step_table(state)]
    parts += [Text(), safe(f"Run folder: {summary.run_dir}", "dim")]
    return parts


def step_table(state: RunState) -> Table | Text:
    """Give every step with what came of it and why."""
    if not state.steps:
        return Text("no step yet", style="dim")
    table = Table(pad_edge=False)
    for column in ("step", "epoch", "train hard", "edits", "candidate"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict and reason", overflow="fold", ratio=1)
    for step in state.steps:
        batch = step.reflected.batch if step.reflected else None
        table.add_row(
            str(step.started.step),
            str(step.started.epoch),
            numbers.score(batch.hard if batch else None),
            numbers.count(len(step.selected.edits) if step.selected else None),
            short(step.proposed.skill) if step.proposed else numbers.UNKNOWN,
            safe(step_words(step), _STYLES.get(step_outcome(step), "")),
        )
    return table


def step_row(step: StepState) -> dict[str, Any]:
    """Give a step as a program reads it."""
    gated = step.gated
    return {
        "step": step.started.step,
        "epoch": step.started.epoch,
        "outcome": step_outcome(step),
        "reason": gated.reason if gated else step.skipped.detail if step.skipped else "",
        "new_best": gated.new_best if gated else False,
        "candidate": step.proposed.skill if step.proposed else None,
        "candidate_score": gated.candidate_score if gated else None,
        "current_score": gated.current_score if gated else None,
    }

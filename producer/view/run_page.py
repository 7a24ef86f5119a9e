"""A run at a glance: its state, scores, curve and steps."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.summary import Summary
from producer.timeline import in_order
from producer.view import numbers
from producer.view.curve import curve_points, legend, plot
from producer.view.final import step_lines, work_lines
from producer.view.outcomes import OUTCOME_STYLES, outcome_of, outcome_words
from producer.view.printable import one_line, safe
from producer.view.scores import noise_lines, score_table, tag_table
from producer.view.stages import status_words
from skillopt.domain.fingerprint import short
from skillopt.domain.run import EpochEnd, RunState, StepState

_CURVE_WIDTH = 76


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
    if tags := tag_table(summary):
        parts += [Text(), tags]
    if state.plan.mode == "train":
        parts += [safe(line) for line in step_lines(summary)]
    parts += [safe(line) for line in noise_lines(summary.noise)]
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
    """Give every step, and every epoch's end, with what came of it and why."""
    if not state.steps:
        return Text("no step yet", style="dim")
    table = Table(pad_edge=False)
    for column in ("step", "epoch", "train hard", "changes", "candidate"):
        table.add_column(column, overflow="fold")
    table.add_column("verdict and reason", overflow="fold", ratio=1)
    for part in in_order(state):
        cells = _step_cells(part) if isinstance(part, StepState) else _end_cells(part)
        candidate = short(part.proposed.skill) if part.proposed else numbers.UNKNOWN
        style = OUTCOME_STYLES.get(outcome_of(part), "")
        table.add_row(*cells, candidate, safe(outcome_words(part), style))
    return table


def _step_cells(step: StepState) -> tuple[str, ...]:
    batch = step.reflected.batch if step.reflected else None
    return (
        str(step.started.step),
        str(step.started.epoch),
        numbers.score(batch.hard if batch else None),
        numbers.count(len(step.selected.edits) if step.selected else None),
    )


def _end_cells(end: EpochEnd) -> tuple[str, ...]:
    return ("end", str(end.compared.epoch), numbers.UNKNOWN, numbers.UNKNOWN)


def step_row(step: StepState) -> dict[str, Any]:
    """Give a step as a program reads it."""
    gated = step.gated
    return {
        "step": step.started.step,
        "epoch": step.started.epoch,
        "outcome": outcome_of(step),
        "reason": gated.reason if gated else step.skipped.detail if step.skipped else "",
        "new_best": gated.new_best if gated else False,
        "forced": gated.forced if gated else False,
        "early": gated.early if gated else False,
        "p_value": gated.p_value if gated else None,
        "level": gated.level if gated else None,
        "candidate": step.proposed.skill if step.proposed else None,
        "candidate_score": gated.candidate_score if gated else None,
        "current_score": gated.current_score if gated else None,
    }

"""One step of a run: what was tried, proposed, applied and decided, and on what grounds."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from producer.records import OptimizerRecord
from producer.view.changes import blocked_lines, change_count, change_lines, change_noun
from producer.view.gate_part import gate_part, heading
from producer.view.outcomes import measurement_words, skip_words
from producer.view.printable import indented, one_line, safe
from producer.view.words import (
    budget_decision_words,
    limit_words,
    merged_words,
    noted_words,
    proposed_words,
)
from skillopt.domain.edits import EditReport
from skillopt.domain.events import BudgetDecided, Merged, Noted, Selected
from skillopt.domain.fingerprint import short
from skillopt.domain.reports import GroupReport
from skillopt.domain.run import RunState, StepState


def step_page(
    state: RunState, step: StepState, calls: Sequence[OptimizerRecord] = ()
) -> list[RenderableType]:
    """Give a step from its batch to its verdict; what it did not reach is left out.

    `calls` are the optimizer calls recorded of it.
    """
    started = step.started
    parts: list[RenderableType] = [
        Text(f"Step {started.step} (epoch {started.epoch})", style="bold"),
        safe(f"document {short(started.skill)}, {limit_words(started.edit_budget)}"),
        safe(f"train tasks: {', '.join(started.items)}"),
    ]
    if step.reflected:
        parts += [heading("What the attempts showed")]
        parts += [safe(measurement_words(step.reflected.batch))]
        parts += [part for group in step.reflected.groups for part in _group(group)]
    if step.merged:
        parts += _merged(step.merged)
    if step.budget:
        parts += _budget(step.budget)
    if step.selected:
        parts += _selected(step.selected, _reports(step))
    if step.noted:
        parts += _noted(step.noted)
    if step.skipped:
        parts += [heading("Skipped"), safe(skip_words(step.skipped))]
    if step.proposed:
        parts += [heading("Candidate"), safe(proposed_words(step.proposed))]
    return [*parts, *gate_part(state, step.proposed, step.gated), *call_lines(calls)]


def call_lines(calls: Sequence[OptimizerRecord]) -> list[RenderableType]:
    """List optimizer calls with the ids by which `show --call` gives them in full."""
    if not calls:
        return []
    return [
        heading("Optimizer calls"),
        *(safe(f"{short(call.job) if call.job else 'unknown'}  {call.label}") for call in calls),
    ]


def _reports(step: StepState) -> Sequence[EditReport]:
    if step.proposed:
        return step.proposed.reports
    return step.skipped.reports if step.skipped else ()


def _group(group: GroupReport) -> list[RenderableType]:
    line = (
        f"{group.kind} group {group.shard}: {group.status}, "
        f"{change_count(group.edits)} from {', '.join(group.items)}"
    )
    parts: list[RenderableType] = [safe(line)]
    parts += [safe(f"  - {one_line(summary, 400)}", "dim") for summary in group.summary]
    parts += [safe(f"  reminder: {one_line(note, 400)}", "dim") for note in group.notes]
    parts += blocked_lines(group.blocked)
    if group.problem:
        parts.append(safe(f"  problem: {group.problem}", "yellow"))
    return parts


def _merged(merged: Merged) -> list[RenderableType]:
    merges = [f"{m.branch} level {m.level}: {m.status}" for m in merged.merges]
    how = f" ({', '.join(merges)})" if merges else ""
    parts: list[RenderableType] = [safe(f"{merged_words(merged)}{how}")]
    problems = [merge.problem for merge in merged.merges if merge.problem]
    parts += [safe(f"  problem: {one_line(problem, 400)}", "yellow") for problem in problems]
    return [*parts, *blocked_lines(merged.blocked)]


def _budget(budget: BudgetDecided) -> list[RenderableType]:
    style = "yellow" if budget.status == "fallback" else ""
    parts: list[RenderableType] = [
        heading("How many changes to apply"),
        safe(budget_decision_words(budget), style),
    ]
    return parts + [safe(f"  risk: {one_line(risk, 400)}", "dim") for risk in budget.risk_notes]


def _selected(selected: Selected, reports: Sequence[EditReport]) -> list[RenderableType]:
    parts: list[RenderableType] = [
        heading(f"Selected {change_noun(selected.edits)}s"),
        *change_lines(selected.edits, reports),
    ]
    if selected.problem:
        parts.append(safe(f"ranking: {selected.problem}", "yellow"))
    return parts


def _noted(noted: Noted) -> list[RenderableType]:
    parts: list[RenderableType] = [heading("Reminders (appendix)"), safe(noted_words(noted))]
    for note in noted.notes:
        new = note in noted.added
        parts.append(indented(f"{'+' if new else ' '} {note}"))
    if noted.problem:
        parts.append(safe(f"condensing: {noted.problem}", "yellow"))
    return parts

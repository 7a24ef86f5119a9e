"""One step of a run: what was tried, proposed, applied and decided, and on what grounds."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view import numbers
from producer.view.diff import skill_diff
from producer.view.printable import indented, one_line, safe
from producer.view.words import gate_words, measurement_words, skip_words
from skillopt.domain.edits import Edit, EditReport
from skillopt.domain.events import Gated, GroupReport, ItemScore, Measurement
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState, StepState


def step_page(state: RunState, step: StepState) -> list[RenderableType]:
    """Give a step from its batch to its verdict; what it did not reach is left out."""
    started = step.started
    parts: list[RenderableType] = [
        Text(f"Step {started.step} (epoch {started.epoch})", style="bold"),
        safe(f"document {short(started.skill)}, at most {started.edit_budget} edits"),
        safe(f"train tasks: {', '.join(started.items)}"),
    ]
    if step.reflected:
        parts += [_heading("What the attempts showed")]
        parts += [safe(measurement_words(step.reflected.batch))]
        parts += [part for group in step.reflected.groups for part in _group(group)]
    if step.merged:
        merges = [f"{m.branch} level {m.level}: {m.status}" for m in step.merged.merges]
        how = f" ({', '.join(merges)})" if merges else ""
        parts.append(safe(f"merged to {numbers.plural(len(step.merged.edits), 'edit')}{how}"))
    if step.selected:
        parts += [
            _heading("Selected edits"),
            *_edits([e for e in step.selected.edits if isinstance(e, Edit)], _reports(step)),
        ]
        if step.selected.problem:
            parts.append(safe(f"ranking: {step.selected.problem}", "yellow"))
    if step.skipped:
        parts += [_heading("Skipped"), safe(skip_words(step.skipped))]
    if step.gated:
        parts += [_heading("Gate"), *_gate(state, step, step.gated)]
    if step.proposed:
        parts.append(_heading("Change of the document"))
        parts.append(candidate_diff(state, step))
    return parts


def candidate_diff(state: RunState, step: StepState) -> Text:
    """Give what the step's candidate changes in the document it came from."""
    if step.proposed is None:
        return Text("no candidate", style="dim")
    return skill_diff(
        state.texts[step.proposed.parent].skill,
        step.proposed.text,
        before_name=f"current {short(step.proposed.parent)}",
        after_name=f"candidate {short(step.proposed.skill)}",
    )


def item_changes(state: RunState, step: StepState) -> Table | None:
    """Give both arms of the gate task by task; None without a verdict."""
    if step.gated is None:
        return None
    before = state.measured.get((step.started.skill, step.gated.measurement.split))
    table = Table("task", "current", "candidate", "change", box=None, pad_edge=False)
    for item, score in step.gated.measurement.items.items():
        old = before.items.get(item) if before else None
        table.add_row(safe(item), _item(old), _item(score), _change(item, step.gated))
    return table


def _reports(step: StepState) -> Sequence[EditReport]:
    if step.proposed:
        return step.proposed.reports
    return step.skipped.reports if step.skipped else ()


def _heading(words: str) -> Text:
    return Text(f"\n{words}", style="bold cyan")


def _group(group: GroupReport) -> list[RenderableType]:
    line = (
        f"{group.kind} group {group.shard}: {group.status}, "
        f"{numbers.plural(len(group.edits), 'edit')} from {', '.join(group.items)}"
    )
    parts: list[RenderableType] = [safe(line)]
    parts += [safe(f"  - {one_line(summary, 400)}", "dim") for summary in group.summary]
    if group.problem:
        parts.append(safe(f"  problem: {group.problem}", "yellow"))
    return parts


def _edits(edits: Sequence[Edit], reports: Sequence[EditReport]) -> list[RenderableType]:
    if not edits:
        return [Text("none", style="dim")]
    by_index = {report.index: report for report in reports}
    parts: list[RenderableType] = []
    for index, edit in enumerate(edits):
        report = by_index.get(index)
        became = report.status.replace("_", " ") if report else "not applied yet"
        style = "green" if report and report.applied else "yellow"
        parts.append(safe(f"{index + 1}. {edit.op} ({edit.source_type}): {became}", style))
        if edit.support:
            parts.append(safe(f"   because of: {', '.join(edit.support)}", "dim"))
        if edit.target:
            parts.append(indented(f"target:  {edit.target}", "   "))
        if edit.content:
            parts.append(indented(f"content: {edit.content}", "   "))
    return parts


def _gate(state: RunState, step: StepState, gated: Gated) -> list[RenderableType]:
    parts: list[RenderableType] = [
        safe(gate_words(gated), "bold"),
        safe(
            f"{gated.metric}: {numbers.score(gated.current_score)} before, "
            f"{numbers.score(gated.candidate_score)} with the candidate, "
            f"on {numbers.plural(gated.pairs, 'task')} that both have a score for"
        ),
        safe(_coverage(gated.measurement)),
    ]
    table = item_changes(state, step)
    return parts if table is None else [*parts, table]


def _coverage(measurement: Measurement) -> str:
    return f"{measurement_words(measurement)}, coverage {numbers.share(measurement.coverage)}"


def _item(score: ItemScore | None) -> str:
    if score is None:
        return numbers.UNKNOWN
    if score.status != "scored":
        return score.status
    return f"{numbers.score(score.hard)} / {numbers.score(score.soft)}"


def _change(item: str, gated: Gated) -> Text:
    if item in gated.improved:
        return Text("improved", style="green")
    if item in gated.regressed:
        return Text("regressed", style="red")
    return Text("same", style="dim")

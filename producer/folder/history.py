"""history.jsonl: one row per ended step.

A row holds what was decided and nothing of how the work went: no times, workers, call counts or
paths. Runs that decide alike have equal bytes here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.events import Measurement
from skillopt.domain.run import RunState, StepState


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RolloutScores(_Row):
    hard: float | None
    soft: float | None
    n: int


class HistoryRow(_Row):
    """A step from its batch to its end; what a step did not reach is null."""

    step: int
    epoch: int
    items: tuple[str, ...]
    rollout: RolloutScores | None
    #: Analyst groups by what came of them.
    groups: dict[Literal["ok", "repaired", "dropped"], int] | None
    n_edits_proposed: int | None
    n_edits_merged: int | None
    n_edits_selected: int | None
    edit_budget: int
    selection: str | None
    edit_reports: tuple[str, ...]
    candidate: str | None
    #: Characters of the candidate.
    candidate_length: int | None
    #: accept_new_best, accept, reject, or skip_<reason>.
    action: str
    reason: str
    gate_metric: str | None
    candidate_score: float | None
    current_score: float | None
    pairs: int | None
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    #: The documents after the step.
    current: str
    best: str
    best_step: int


def history_rows(state: RunState) -> Iterator[HistoryRow]:
    """Give the rows of every ended step, in order."""
    current = best = state.plan.initial_key
    best_step = 0
    for step in state.steps:
        if not step.ended:
            return
        gated = step.gated
        if gated and gated.verdict == "accept":
            current = gated.skill
            if gated.new_best:
                best, best_step = gated.skill, gated.step
        yield _row(step, current, best, best_step)


def history_bytes(state: RunState) -> bytes:
    return "".join(f"{row.model_dump_json()}\n" for row in history_rows(state)).encode()


def action_of(step: StepState) -> str:
    """Name what became of a step; "open" while it has not ended."""
    if step.skipped:
        return f"skip_{step.skipped.reason}"
    if step.gated is None or step.gated.verdict == "indecisive":
        return "open"
    if step.gated.verdict == "accept":
        return "accept_new_best" if step.gated.new_best else "accept"
    return "reject"


def _row(step: StepState, current: str, best: str, best_step: int) -> HistoryRow:
    started, reflected, gated = step.started, step.reflected, step.gated
    ended_by = step.proposed or step.skipped
    return HistoryRow(
        step=started.step,
        epoch=started.epoch,
        items=started.items,
        rollout=_scores(reflected.batch) if reflected else None,
        groups=_groups(step),
        n_edits_proposed=sum(len(g.edits) for g in reflected.groups) if reflected else None,
        n_edits_merged=len(step.merged.edits) if step.merged else None,
        n_edits_selected=len(step.selected.edits) if step.selected else None,
        edit_budget=started.edit_budget,
        selection=step.selected.how if step.selected else None,
        edit_reports=tuple(report.status for report in ended_by.reports) if ended_by else (),
        candidate=step.proposed.skill if step.proposed else None,
        candidate_length=len(step.proposed.text) if step.proposed else None,
        action=action_of(step),
        reason=gated.reason if gated else step.skipped.detail if step.skipped else "",
        gate_metric=gated.metric if gated else None,
        candidate_score=gated.candidate_score if gated else None,
        current_score=gated.current_score if gated else None,
        pairs=gated.pairs if gated else None,
        improved=gated.improved if gated else (),
        regressed=gated.regressed if gated else (),
        current=current,
        best=best,
        best_step=best_step,
    )


def _scores(batch: Measurement) -> RolloutScores:
    return RolloutScores(hard=batch.hard, soft=batch.soft, n=batch.n)


def _groups(step: StepState) -> dict[Literal["ok", "repaired", "dropped"], int] | None:
    if step.reflected is None:
        return None
    counts: dict[Literal["ok", "repaired", "dropped"], int] = {"ok": 0, "repaired": 0, "dropped": 0}
    for group in step.reflected.groups:
        counts[group.status] += 1
    return counts

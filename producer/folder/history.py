"""history.jsonl: one row per ended step, and one per slow update, in the order they ended.

A row holds what was decided and nothing of how the work went: no times, workers, call counts or
paths. Runs that decide alike have equal bytes here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from producer.timeline import Part, in_order, last_step_of
from skillopt.domain.events import Gated, Proposed, Source, Verdict
from skillopt.domain.measurement import Measurement
from skillopt.domain.run import EpochEnd, RunState, StepState


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class RolloutScores(_Row):
    hard: float | None
    soft: float | None
    n: int


class _Candidate(_Row):
    """A candidate and its gate, whatever brought it; what was not reached is null."""

    kind: Source
    #: Of a slow update: the last step of its epoch.
    step: int
    epoch: int
    candidate: str | None
    #: Characters of the candidate, of all its documents.
    candidate_length: int | None
    #: edits, rewrite, compressed or guidance.
    how: str | None
    #: Training tasks whose own text the candidate repeats.
    copied_from: tuple[str, ...]
    #: What went wrong on the way, by stage.
    problem: str
    #: accept_new_best, accept, force_accept, reject, underpowered, or skip_<reason>.
    action: str
    reason: str
    verdict: Verdict | None
    forced: bool
    early: bool
    p_value: float | None
    level: float | None
    gate_metric: str | None
    candidate_score: float | None
    current_score: float | None
    pairs: int | None
    improved: tuple[str, ...]
    regressed: tuple[str, ...]
    #: The documents from here on.
    current: str
    best: str
    best_step: int


class StepRow(_Candidate):
    """A step from its batch to its end."""

    kind: Literal["step"] = "step"
    items: tuple[str, ...]
    rollout: RolloutScores | None
    #: Analyst groups by what came of them.
    groups: dict[Literal["ok", "repaired", "dropped"], int] | None
    n_edits_proposed: int | None
    n_edits_merged: int | None
    n_edits_selected: int | None
    #: What the copy guard took out.
    n_blocked: int | None
    #: As scheduled; null is no limit.
    edit_budget: int | None
    #: As the optimizer decided.
    budget_decided: int | None
    budget_status: str | None
    selection: str | None
    edit_reports: tuple[str, ...]
    n_notes_added: int | None
    notes_status: str | None


class SlowUpdateRow(_Candidate):
    """The slow update at the end of an epoch."""

    kind: Literal["slow_update"] = "slow_update"
    previous: str
    pair_policy: str
    n_sampled: int
    #: Pairs by what became of their task.
    pair_changes: dict[str, int]


HistoryRow = StepRow | SlowUpdateRow


@dataclass
class _Standing:
    """Which documents are current and best after the rows so far."""

    current: str
    best: str
    best_step: int = 0

    def after(self, gated: Gated | None) -> dict[str, Any]:
        if gated and gated.adopted:
            self.current = gated.skill
            if gated.new_best:
                self.best, self.best_step = gated.skill, gated.step
        return {"current": self.current, "best": self.best, "best_step": self.best_step}


def history_rows(state: RunState) -> Iterator[HistoryRow]:
    """Give the rows of every ended step and slow update, in order."""
    standing = _Standing(state.plan.initial_key, state.plan.initial_key)
    for part in in_order(state):
        if isinstance(part, StepState):
            if part.ended:
                yield _step_row(part, standing.after(part.gated))
        elif part.slow_update_ended:
            number = last_step_of(state, part)
            yield _slow_update_row(part, number, standing.after(part.gated))


def history_bytes(state: RunState) -> bytes:
    return "".join(f"{row.model_dump_json()}\n" for row in history_rows(state)).encode()


def action_of(part: Part) -> str:
    """Name what became of a step or slow update; "open" while it has not ended."""
    if part.skipped:
        return f"skip_{part.skipped.reason}"
    gated = part.gated
    if gated is None or gated.verdict == "indecisive":
        return "open"
    if gated.verdict == "accept":
        return "accept_new_best" if gated.new_best else "accept"
    return "force_accept" if gated.adopted else gated.verdict


def _step_row(step: StepState, standing: dict[str, Any]) -> StepRow:
    started, reflected = step.started, step.reflected
    ended_by = step.proposed or step.skipped
    return StepRow(
        step=started.step,
        epoch=started.epoch,
        items=started.items,
        rollout=_scores(reflected.batch) if reflected else None,
        groups=_groups(step),
        n_edits_proposed=sum(len(g.edits) for g in reflected.groups) if reflected else None,
        n_edits_merged=len(step.merged.edits) if step.merged else None,
        n_edits_selected=len(step.selected.edits) if step.selected else None,
        n_blocked=_blocked(step),
        edit_budget=started.edit_budget,
        budget_decided=step.budget.edit_budget if step.budget else None,
        budget_status=step.budget.status if step.budget else None,
        selection=step.selected.how if step.selected else None,
        edit_reports=tuple(report.status for report in ended_by.reports) if ended_by else (),
        n_notes_added=len(step.noted.added) if step.noted else None,
        notes_status=step.noted.status if step.noted else None,
        **_candidate(step),
        **standing,
    )


def _slow_update_row(end: EpochEnd, step: int, standing: dict[str, Any]) -> SlowUpdateRow:
    compared = end.compared
    changes = Counter(pair.change for pair in compared.pairs)
    return SlowUpdateRow(
        step=step,
        epoch=compared.epoch,
        previous=compared.previous,
        pair_policy=compared.policy,
        n_sampled=len(compared.sampled),
        pair_changes=dict(sorted(changes.items())),
        **_candidate(end),
        **standing,
    )


def _candidate(part: Part) -> dict[str, Any]:
    proposed, gated = part.proposed, part.gated
    return {
        "candidate": proposed.skill if proposed else None,
        "candidate_length": _length(proposed) if proposed else None,
        "how": proposed.how if proposed else None,
        "copied_from": proposed.copied_from if proposed else (),
        "problem": _problems(part),
        "action": action_of(part),
        "reason": gated.reason if gated else part.skipped.detail if part.skipped else "",
        "verdict": gated.verdict if gated else None,
        "forced": gated.forced if gated else False,
        "early": gated.early if gated else False,
        "p_value": gated.p_value if gated else None,
        "level": gated.level if gated else None,
        "gate_metric": gated.metric if gated else None,
        "candidate_score": gated.candidate_score if gated else None,
        "current_score": gated.current_score if gated else None,
        "pairs": gated.pairs if gated else None,
        "improved": gated.improved if gated else (),
        "regressed": gated.regressed if gated else (),
    }


def _problems(part: Part) -> str:
    found = {"update": part.proposed.problem if part.proposed else ""}
    if isinstance(part, StepState):
        stages = {"budget": part.budget, "rank": part.selected, "appendix": part.noted}
        found = {**{name: event.problem for name, event in stages.items() if event}, **found}
    return "; ".join(f"{stage}: {problem}" for stage, problem in found.items() if problem)


def _length(proposed: Proposed) -> int:
    return len(proposed.text) + len(proposed.memory or "")


def _scores(batch: Measurement) -> RolloutScores:
    return RolloutScores(hard=batch.hard, soft=batch.soft, n=batch.n)


def _blocked(step: StepState) -> int | None:
    if step.reflected is None:
        return None
    merged = step.merged.blocked if step.merged else ()
    return len(merged) + sum(len(group.blocked) for group in step.reflected.groups)


def _groups(step: StepState) -> dict[Literal["ok", "repaired", "dropped"], int] | None:
    if step.reflected is None:
        return None
    counts: dict[Literal["ok", "repaired", "dropped"], int] = {"ok": 0, "repaired": 0, "dropped": 0}
    for group in step.reflected.groups:
        counts[group.status] += 1
    return counts

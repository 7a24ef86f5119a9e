"""The curve of a run: train, val and best score, and what became of each candidate."""

from __future__ import annotations

from producer.queue.gates_page import label_of
from producer.queue.models import CurveRow
from producer.timeline import Part, in_order
from producer.view.outcomes import UNDER_WAY, outcome_of
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.domain.spec import Evaluation
from skillopt.loop.gate import score_of


def curve_rows(state: RunState) -> list[CurveRow]:
    """Give the curve so far; empty before the first measurement, and for runs without one."""
    settings = state.plan.settings.evaluation
    initial = state.measured.get((state.plan.initial_key, "val"))
    val = None if initial is None else score_of(initial, settings)
    if val is None or state.plan.mode != "train":
        return []
    best = val
    rows = [CurveRow(label="0", train=None, val=val, candidate=None, best=best, verdict=None)]
    for part in in_order(state):
        if isinstance(part, EpochEnd) and part.gated is None and part.skipped is None:
            continue
        candidate, gated = _candidate(part, settings), part.gated
        if gated and gated.adopted and candidate is not None:
            val = candidate
        if gated and gated.adopted and gated.new_best and candidate is not None:
            best = candidate
        outcome = outcome_of(part)
        rows.append(
            CurveRow(
                label=label_of(part),
                train=_train(part, settings),
                val=val,
                candidate=candidate,
                best=best,
                verdict=None if outcome == UNDER_WAY else outcome,
            )
        )
    return rows


def _candidate(part: Part, settings: Evaluation) -> float | None:
    """Give the score of a candidate that was measured whole: of a part of the tasks it would not
    compare with the others.
    """
    if part.gated is None or part.gated.early or part.gated.verdict == "indecisive":
        return None
    return score_of(part.gated.measurement, settings)


def _train(part: Part, settings: Evaluation) -> float | None:
    if not isinstance(part, StepState) or part.reflected is None:
        return None
    return score_of(part.reflected.batch, settings)

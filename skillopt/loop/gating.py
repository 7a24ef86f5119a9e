"""The gate of a candidate, whatever brought it: measure it on val, as far as it takes."""

from __future__ import annotations

from skillopt.domain.events import Gated, Measurement, Paused, Proposed
from skillopt.domain.run import RunState
from skillopt.loop.coverage import too_little
from skillopt.loop.decision import Decision, waiting
from skillopt.loop.early import deciding_prefix, gate_order
from skillopt.loop.evaluate import evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.gate import judge_candidate
from skillopt.loop.gate_rules import GateRules, rules_of
from skillopt.loop.jobs import JobFactory


def gate(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    proposed: Proposed,
    *,
    label: str,
    forced: bool | None = None,
) -> Decision:
    """Decide on a candidate, or say which attempts at val tasks are still wanted for that.

    A forced candidate becomes current whatever its score, so its whole measurement is needed.
    """
    settings, rules = state.plan.settings.evaluation, rules_of(state)
    is_forced = not settings.use_gate if forced is None else forced
    evaluation = evaluate(
        state,
        facts,
        factory,
        skill=proposed.skill,
        split="val",
        items=gate_order(state),
        samples=range(settings.samples),
        stage=label,
    )
    if settings.early_decision and not is_forced:
        measured = evaluation.complete_prefix()
        enough = deciding_prefix(measured, state.measured[(state.current, "val")], rules)
        if enough is not None and enough < len(state.plan.splits.val):
            kept = dict(list(measured.items.items())[:enough])
            part = measured.model_copy(update={"items": kept})
            return Decision((_gated(state, proposed, part, rules, early=True),))
    if not evaluation.complete:
        return waiting(label, evaluation)
    gated = _gated(state, proposed, evaluation.measurement(), rules, forced=is_forced)
    if gated.verdict != "indecisive":
        return Decision((gated,))
    short = too_little(state, gated.measurement, label)
    return Decision((gated, short or Paused(why="coverage", detail=gated.reason)))


def _gated(
    state: RunState,
    proposed: Proposed,
    measurement: Measurement,
    rules: GateRules,
    *,
    forced: bool = False,
    early: bool = False,
) -> Gated:
    opinion = judge_candidate(measurement, state.measured[(state.current, "val")], rules)
    best = state.measured[(state.best, "val")]
    beats_best = opinion.verdict == "accept" and (
        state.best == state.current or judge_candidate(measurement, best, rules).verdict == "accept"
    )
    return Gated(
        step=proposed.step,
        source=proposed.source,
        skill=proposed.skill,
        verdict=opinion.verdict,
        forced=forced,
        new_best=beats_best,
        early=early,
        p_value=opinion.p_value,
        level=rules.level,
        metric=rules.settings.gate_metric,
        candidate_score=opinion.candidate,
        current_score=opinion.current,
        pairs=opinion.pairs,
        improved=opinion.improved,
        regressed=opinion.regressed,
        reason=opinion.reason,
        measurement=measurement,
    )

"""The gate of a candidate, whatever brought it: measure it on val, as far as it takes."""

from __future__ import annotations

from dataclasses import replace

from skillopt.domain.events import Gated, Proposed
from skillopt.domain.measurement import Measurement
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import Paused
from skillopt.loop.coverage import too_little
from skillopt.loop.decision import Decision, waiting
from skillopt.loop.early import deciding_prefix, early_opinion, gate_order
from skillopt.loop.evaluate import Evaluation, evaluate, reasons_of_invalid
from skillopt.loop.facts import Facts
from skillopt.loop.gate import Opinion, judge_candidate
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

    A forced candidate becomes current whatever the verdict, so its whole measurement is needed.
    """
    settings, rules = state.plan.settings.evaluation, rules_of(state)
    current = state.measured[(state.current, "val")]
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
        part = _deciding_part(evaluation, current, rules)
        if part is not None:
            opinion = early_opinion(part, current, rules)
            return Decision((_gated(proposed, part, rules, opinion, early=True),))
    if not evaluation.complete:
        return waiting(label, evaluation)
    measurement = evaluation.measurement()
    opinion, new_best = _judged(state, measurement, rules, forced=is_forced)
    gated = _gated(proposed, measurement, rules, opinion, forced=is_forced, new_best=new_best)
    if gated.verdict != "indecisive":
        return Decision((gated,))
    short = too_little(
        state,
        measurement,
        label,
        invalid_because=lambda: reasons_of_invalid(evaluation, facts),
    )
    return Decision((gated, short or Paused(why="coverage", detail=f"{label}: {gated.reason}")))


def _deciding_part(
    evaluation: Evaluation, current: Measurement, rules: GateRules
) -> Measurement | None:
    """Give the head of the gate's order that rejects the candidate before all is known."""
    measured = evaluation.complete_prefix()
    enough = deciding_prefix(measured, current, rules)
    if enough is None or enough == len(current.items):
        return None
    kept = dict(list(measured.items.items())[:enough])
    return measured.model_copy(update={"items": kept})


def _judged(
    state: RunState, measurement: Measurement, rules: GateRules, *, forced: bool
) -> tuple[Opinion, bool]:
    """Compare a candidate with the current document, and say whether it becomes the best one.

    After a forced candidate `best` may be another document than the current one: it must be
    beaten too. A candidate that is forced itself need not beat the current one for that: gains
    too small to be accepted one by one may sum up to one that is.
    """
    opinion = judge_candidate(measurement, state.measured[(state.current, "val")], rules)
    if state.best == state.current or opinion.verdict == "indecisive":
        return opinion, opinion.verdict == "accept"
    with_best = judge_candidate(measurement, state.measured[(state.best, "val")], rules)
    if with_best.verdict != "accept":
        return opinion, False
    if forced and opinion.verdict != "accept":
        reason = f"better than the best document: {with_best.reason}; with the current one "
        reason += opinion.reason
        opinion = replace(opinion, verdict="accept", p_value=with_best.p_value, reason=reason)
    return opinion, opinion.verdict == "accept"


def _gated(
    proposed: Proposed,
    measurement: Measurement,
    rules: GateRules,
    opinion: Opinion,
    *,
    forced: bool = False,
    early: bool = False,
    new_best: bool = False,
) -> Gated:
    return Gated(
        step=proposed.step,
        source=proposed.source,
        skill=proposed.skill,
        verdict=opinion.verdict,
        forced=forced,
        new_best=new_best,
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

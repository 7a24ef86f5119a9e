"""The end of an epoch: compare, give guidance, gate it, and remember how to edit.

From the second epoch on, since there must be a document of an epoch before to compare with.
"""

from __future__ import annotations

from dataclasses import replace

from skillopt.domain.events import MetaLearned, Proposed
from skillopt.domain.run import EpochEnd, RunState
from skillopt.loop import sample
from skillopt.loop.comparison import comparison_of
from skillopt.loop.decision import Decision, StageResult, decision_of
from skillopt.loop.facts import Facts
from skillopt.loop.gating import gate
from skillopt.loop.jobs import JobFactory
from skillopt.loop.meta_skill import learn
from skillopt.loop.pairs import compare
from skillopt.loop.slow_update import propose_guidance


def is_due(state: RunState) -> bool:
    """Say whether the epoch that the last step belongs to still has its end before it."""
    optimizer = state.plan.settings.optimizer
    done = len(state.steps)
    if done == 0 or done % sample.steps_per_epoch(state.plan) or state.step is not None:
        return False
    epoch = sample.epoch_of(state.plan, done)
    if epoch == 1 or not (optimizer.use_slow_update or optimizer.use_meta_skill):
        return False
    end = state.epoch_ends.get(epoch)
    return end is None or _slow_update_open(state, end) or _meta_skill_open(state, end)


def epoch_end(state: RunState, facts: Facts, factory: JobFactory) -> Decision:
    """Do what comes next at the end of an epoch.

    The memory is asked for together with the guidance, but written down after it.
    """
    number = len(state.steps)
    epoch = sample.epoch_of(state.plan, number)
    end = state.epoch_ends.get(epoch)
    if end is None:
        return compare(state, facts, factory, epoch)
    comparison = comparison_of(state, facts, factory, end.compared)
    if comparison.before:
        return comparison.before
    memory: StageResult[MetaLearned] = StageResult()
    if _meta_skill_open(state, end):
        memory = learn(state, facts, factory, comparison)
    if not _slow_update_open(state, end):
        return decision_of(memory, f"epoch {epoch} / meta skill")
    if end.proposed is None:
        guidance = propose_guidance(state, facts, factory, comparison, number)
        decision = decision_of(guidance, f"epoch {epoch} / slow update")
    else:
        decision = _gate(state, facts, factory, end.proposed, epoch)
    if decision.events:
        return decision
    return replace(decision, wanted=(*decision.wanted, *memory.wanted))


def _gate(
    state: RunState, facts: Facts, factory: JobFactory, proposed: Proposed, epoch: int
) -> Decision:
    settings = state.plan.settings
    gated = settings.evaluation.use_gate and settings.optimizer.slow_update_gate_with_selection
    label = f"epoch {epoch} / slow update gate"
    return gate(state, facts, factory, proposed, label=label, forced=not gated)


def _slow_update_open(state: RunState, end: EpochEnd) -> bool:
    return state.plan.settings.optimizer.use_slow_update and not end.slow_update_ended


def _meta_skill_open(state: RunState, end: EpochEnd) -> bool:
    return state.plan.settings.optimizer.use_meta_skill and end.meta is None

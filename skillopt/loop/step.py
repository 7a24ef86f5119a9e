"""A step: roll out and reflect, merge, select, update, gate. The first absent part comes next."""

from __future__ import annotations

from skillopt.domain.events import Reflected, Skipped, StepStarted
from skillopt.domain.run import RunState, StepState
from skillopt.loop import sample
from skillopt.loop.aggregate import aggregate
from skillopt.loop.appendix import note
from skillopt.loop.control import choose_budget
from skillopt.loop.coverage import too_little
from skillopt.loop.decision import Decision, decision_of, optimizer_missing, waiting
from skillopt.loop.evaluate import Evaluation, evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.gating import gate
from skillopt.loop.jobs import JobFactory
from skillopt.loop.reflect import analyse, groups_of, report_of
from skillopt.loop.schedule import edit_budget
from skillopt.loop.select import select
from skillopt.loop.update import update


def start_step(state: RunState) -> Decision:
    plan, number = state.plan, len(state.steps) + 1
    started = StepStarted(
        step=number,
        epoch=sample.epoch_of(plan, number),
        skill=state.current,
        items=tuple(item.id for item in sample.batch_of(plan, number)),
        edit_budget=edit_budget(plan.settings.optimizer, number, sample.total_steps(plan)),
    )
    return Decision((started,))


def go_on(state: RunState, facts: Facts, factory: JobFactory, step: StepState) -> Decision:
    """Do what comes next in a step that has begun."""
    optimizer, number = state.plan.settings.optimizer, step.started.step
    if step.started.edit_budget == 0:
        detail = "the edit budget of this step is 0"
        return Decision((Skipped(step=number, reason="no_edits", detail=detail),))
    if step.reflected is None:
        return _reflect(state, facts, factory, step)
    if step.merged is None:
        return decision_of(aggregate(state, facts, factory, step), f"step {number} / merge")
    if optimizer.lr_control_mode == "autonomous" and step.budget is None:
        return decision_of(choose_budget(state, facts, factory, step), f"step {number} / budget")
    if step.selected is None:
        return decision_of(select(state, facts, factory, step), f"step {number} / rank")
    if optimizer.use_skill_aware_reflection and step.noted is None:
        return decision_of(note(state, facts, factory, step), f"step {number} / appendix")
    if step.proposed is None:
        return decision_of(update(state, facts, factory, step), f"step {number} / update")
    return gate(state, facts, factory, step.proposed, label=f"step {number} / gate")


def _reflect(state: RunState, facts: Facts, factory: JobFactory, step: StepState) -> Decision:
    """Roll the batch out and show each shard to its analysts as soon as it is judged."""
    plan, number = state.plan, step.started.step
    shards = sample.shards_of(plan, number, sample.batch_of(plan, number))
    evaluations = [
        evaluate(
            state,
            facts,
            factory,
            skill=step.started.skill,
            split="train",
            items=shard,
            samples=range(plan.settings.train.samples),
            stage=f"step {number} / rollout",
        )
        for shard in shards
    ]
    attempts = tuple(a for evaluation in evaluations for a in evaluation.attempts)
    whole = Evaluation(step.started.skill, "train", attempts)
    if whole.complete:
        stage = f"step {number} rollout"
        short = too_little(state, whole.measurement(), stage, may_be_empty=True)
        if short:
            return Decision((short,))
    wanted, answered = [], []
    for index, evaluation in enumerate(evaluations):
        if not evaluation.complete or (evaluation.has_missing and not whole.complete):
            # Its analysts start when the shard's own members are judged; with a member missing,
            # when it is known that the run goes on without it.
            continue
        for group in groups_of(index, evaluation.attempts, plan.settings.gradient):
            answer = analyse(state, facts, factory, step, group)
            if answer.status == "given_up":
                return optimizer_missing(answer.problem)
            if answer.wanted:
                wanted.append(answer.wanted)
            answered.append((group, answer))
    if wanted or not whole.complete:
        stage = "reflect" if whole.complete else "rollout"
        return waiting(f"step {number} / {stage}", whole, wanted)
    reports = tuple(report_of(state, step, group, answer) for group, answer in answered)
    return Decision((Reflected(step=number, batch=whole.measurement(), groups=reports),))

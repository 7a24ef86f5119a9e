"""Who says how many edits a step applies: the optimizer, in `lr_control_mode: autonomous`."""

from __future__ import annotations

from functools import partial

from skillopt.domain.changes import Change
from skillopt.domain.events import BudgetDecided
from skillopt.domain.measurement import Measurement
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState, StepState
from skillopt.loop.ask import ask
from skillopt.loop.decision import StageResult
from skillopt.loop.earlier_steps import earlier_steps_section
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import (
    CHANGES_LIMIT,
    NOUNS,
    change_rows,
    meta_skill_section,
    section,
    shown_documents,
    system_prompt,
)
from skillopt.loop.replies import parse_learning_rate


def choose_budget(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[BudgetDecided]:
    """Ask the optimizer how many of the merged changes to apply; 0 is none of them.

    A reply that cannot be used leaves it to the schedule, never to zero.
    """
    assert step.merged is not None
    number, changes = step.started.step, step.merged.edits
    available = len(changes)
    if not changes:
        return StageResult(BudgetDecided(step=number, edit_budget=0, status="ok"))
    if state.plan.settings.optimizer.skill_update_mode == "full_rewrite_minibatch":
        reasoning = "a rewrite is applied whole"
        return StageResult(
            BudgetDecided(step=number, edit_budget=1, reasoning=reasoning, status="ok")
        )
    answer = ask(
        state,
        facts,
        factory,
        stage="learning_rate",
        messages=messages_for(state, step, changes),
        parse=partial(parse_learning_rate, available=available),
        label=f"step {number} / learning rate",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    reply = answer.value
    if reply is None:
        scheduled = step.started.edit_budget
        budget = available if scheduled is None else min(scheduled, available)
        return StageResult(
            BudgetDecided(
                step=number, edit_budget=budget, status="fallback", problem=answer.problem
            )
        )
    return StageResult(
        BudgetDecided(
            step=number,
            edit_budget=min(reply.learning_rate, available),
            reasoning=reply.reasoning,
            confidence=reply.confidence,
            risk_notes=reply.risk_notes,
            status="repaired" if answer.status == "repaired" else "ok",
            problem="; ".join(filter(None, [answer.problem, *reply.problems])),
        )
    )


def messages_for(
    state: RunState, step: StepState, changes: tuple[Change, ...]
) -> tuple[Message, ...]:
    assert step.reflected is not None
    noun = NOUNS[state.plan.settings.optimizer.skill_update_mode]
    sections = [
        *shown_documents(state, step.started.skill),
        section("Batch", _told(step.reflected.batch)),
        *earlier_steps_section(state, step),
        *meta_skill_section(state),
        section(f"Merged {noun}", change_rows(changes, CHANGES_LIMIT)),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, "learning_rate")),
        Message(role="user", content="\n".join(sections)),
    )


def _told(batch: Measurement) -> str:
    means = (("hard", batch.hard), ("soft", batch.soft))
    shown = [f"{name}: {'not measured' if mean is None else f'{mean:.3f}'}" for name, mean in means]
    return "\n".join([f"n: {batch.n}", *shown])

"""Select: keep at most the edit budget, by a ranking call if there are more."""

from __future__ import annotations

from functools import partial

from skillopt.domain.changes import Change
from skillopt.domain.events import Selected
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState, StepState
from skillopt.loop.ask import ask
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import edit_rows, fenced, section
from skillopt.loop.replies import parse_rank


def select(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Selected]:
    """Choose the edits to apply; the selected order is the order of application."""
    assert step.merged is not None
    number, budget, edits = step.started.step, step.edit_budget, step.merged.edits
    if not edits or budget == 0:
        return StageResult(Selected(step=number, edits=(), how="none"))
    if budget is None or len(edits) <= budget:
        return StageResult(Selected(step=number, edits=edits, how="all"))
    answer = ask(
        state,
        facts,
        factory,
        stage="rank",
        messages=messages_for(state, step, edits, budget),
        parse=partial(parse_rank, n_edits=len(edits)),
        label=f"step {number} / rank",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    indices = answer.value.selected_indices[:budget] if answer.value else ()
    if not indices:
        problem = answer.problem or "the ranking selected nothing"
        first = edits[:budget]
        return StageResult(Selected(step=number, edits=first, how="fallback", problem=problem))
    how = "repaired" if answer.status == "repaired" else "ranked"
    chosen = tuple(edits[index] for index in indices)
    return StageResult(Selected(step=number, edits=chosen, how=how, problem=answer.problem))


def messages_for(
    state: RunState, step: StepState, edits: tuple[Change, ...], budget: int
) -> tuple[Message, ...]:
    user = "\n".join(
        [
            section("Current skill", fenced(state.texts[step.started.skill].skill)),
            section("Edits", edit_rows(edits)),
            section("Edits wanted", f"Select at most {budget} edits."),
        ]
    )
    return (
        Message(role="system", content=state.plan.templates["rank"]),
        Message(role="user", content=user),
    )

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
from skillopt.loop.prompt_parts import (
    CHANGES_LIMIT,
    NOUNS,
    change_rows,
    meta_skill_section,
    section,
    shown_documents,
    system_prompt,
)
from skillopt.loop.replies import parse_rank


def select(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Selected]:
    """Choose the changes to apply; the selected order is the order of application."""
    assert step.merged is not None
    number, budget, changes = step.started.step, step.edit_budget, step.merged.edits
    if not changes or budget == 0:
        return StageResult(Selected(step=number, edits=(), how="none"))
    if state.plan.settings.optimizer.skill_update_mode == "full_rewrite_minibatch":
        return StageResult(_first_rewrite(number, changes))
    if budget is None or len(changes) <= budget:
        return StageResult(Selected(step=number, edits=changes, how="all"))
    answer = ask(
        state,
        facts,
        factory,
        stage="rank",
        messages=messages_for(state, step, changes, budget),
        parse=partial(parse_rank, n_edits=len(changes)),
        label=f"step {number} / rank",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    problems = [answer.problem, *(answer.value.problems if answer.value else ())]
    problem = "; ".join(filter(None, problems))
    indices = answer.value.selected_indices[:budget] if answer.value else ()
    if not indices:
        problem = problem or "the ranking selected nothing"
        first = changes[:budget]
        return StageResult(Selected(step=number, edits=first, how="fallback", problem=problem))
    how = "repaired" if answer.status == "repaired" else "ranked"
    chosen = tuple(changes[index] for index in indices)
    return StageResult(Selected(step=number, edits=chosen, how=how, problem=problem))


def messages_for(
    state: RunState, step: StepState, changes: tuple[Change, ...], budget: int
) -> tuple[Message, ...]:
    noun = NOUNS[state.plan.settings.optimizer.skill_update_mode]
    sections = [
        *shown_documents(state, step.started.skill),
        *meta_skill_section(state),
        section(noun.capitalize(), change_rows(changes, CHANGES_LIMIT)),
        section("Edits wanted", f"Select at most {budget} {noun}."),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, "rank")),
        Message(role="user", content="\n".join(sections)),
    )


def _first_rewrite(number: int, changes: tuple[Change, ...]) -> Selected:
    """Only one document can follow, so there is nothing to rank: failures come first."""
    left_out = len(changes) - 1
    problem = f"of {len(changes)} rewrites the first is kept" if left_out else ""
    return Selected(step=number, edits=changes[:1], how="all", problem=problem)

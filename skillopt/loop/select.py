"""Select: keep at most the edit budget, by a ranking call if there are more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from skillopt.domain.edits import Edit
from skillopt.domain.events import Selected
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState, StepState
from skillopt.loop.ask import ask
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.prompt_parts import edit_rows, fenced, section
from skillopt.loop.replies import parse_rank


@dataclass(frozen=True)
class Selecting:
    selected: Selected | None = None
    wanted: tuple[WantedJob, ...] = ()
    given_up: str = ""


def select(state: RunState, facts: Facts, factory: JobFactory, step: StepState) -> Selecting:
    """Choose the edits to apply; the selected order is the order of application."""
    assert step.merged is not None
    number, budget, edits = step.started.step, step.started.edit_budget, step.merged.edits
    if not edits or budget == 0:
        return Selecting(Selected(step=number, edits=(), how="none"))
    if len(edits) <= budget:
        return Selecting(Selected(step=number, edits=edits, how="all"))
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
        return Selecting(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return Selecting(given_up=answer.problem)
    indices = answer.value.selected_indices[:budget] if answer.value else ()
    if not indices:
        problem = answer.problem or "the ranking selected nothing"
        first = edits[:budget]
        return Selecting(Selected(step=number, edits=first, how="fallback", problem=problem))
    how = "repaired" if answer.status == "repaired" else "ranked"
    chosen = tuple(edits[index] for index in indices)
    return Selecting(Selected(step=number, edits=chosen, how=how, problem=answer.problem))


def messages_for(
    state: RunState, step: StepState, edits: tuple[Edit, ...], budget: int
) -> tuple[Message, ...]:
    user = "\n".join(
        [
            section("Current skill", fenced(state.texts[step.started.skill])),
            section("Edits", edit_rows(edits)),
            section("Edits wanted", f"Select at most {budget} edits."),
        ]
    )
    return (
        Message(role="system", content=state.plan.templates["rank"]),
        Message(role="user", content=user),
    )

"""Rewriting a document as a whole: the model sees an outline, protected parts are put back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.messages import Message
from skillopt.domain.run import RunState, StepState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.ask import Answer, ask
from skillopt.loop.decision import StageResult
from skillopt.loop.earlier_steps import earlier_steps_section
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import (
    CHANGES_LIMIT,
    change_rows,
    meta_skill_section,
    preferences_section,
    section,
    shown_documents,
    system_prompt,
)
from skillopt.loop.replies import RewriteReply, parse_rewrite


@dataclass(frozen=True)
class Rewriting:
    """The rewritten text, or None if the reply cannot be used; and what was wrong with it."""

    text: str | None
    problem: str = ""


def rewrite(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Rewriting]:
    """Ask for the primary document rewritten by the selected suggestions."""
    answer = ask(
        state,
        facts,
        factory,
        stage="rewrite",
        messages=messages_for(state, step),
        parse=parse_rewrite,
        label=f"step {step.started.step} / rewrite",
    )
    return rewriting_of(state.texts[state.current].of(state.plan.primary), answer)


def messages_for(state: RunState, step: StepState) -> tuple[Message, ...]:
    assert step.selected is not None
    sections = [
        *shown_documents(state, state.current, outline=True),
        *preferences_section(state),
        *earlier_steps_section(state, step),
        *meta_skill_section(state),
        section("Suggestions", change_rows(step.selected.edits, CHANGES_LIMIT)),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, "rewrite")),
        Message(role="user", content="\n".join(sections)),
    )


def rewriting_of(before: str, answer: Answer[RewriteReply]) -> StageResult[Rewriting]:
    """Put the protected parts of a document into what the model made of its outline."""
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    if answer.value is None:
        return StageResult(Rewriting(None, answer.problem))
    problems = (answer.problem, *answer.value.problems)
    return StageResult(rewritten(before, answer.value.new_skill, problems))


def rewritten(before: str, text: str, known: Sequence[str] = ()) -> Rewriting:
    """Give the document with a new text around its protected parts; without text, None.

    `known` is what was wrong with the reply already.
    """
    outcome = SkillDocument.parse(before).rewritten(text)
    problems = [*known, *outcome.problems]
    if outcome.document.body.strip():
        return Rewriting(outcome.document.render(), "; ".join(filter(None, problems)))
    problems.append("the rewrite has no text beside the protected parts")
    return Rewriting(None, "; ".join(filter(None, problems)))

"""Compressing a candidate that is longer than `optimizer.max_skill_tokens`, asked for once."""

from __future__ import annotations

from skillopt.domain.documents import Documents
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.ask import ask
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.length import Excess, tokens_of
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN, fenced, section, system_prompt
from skillopt.loop.replies import parse_rewrite
from skillopt.loop.rewrite import Rewriting, rewriting_of


def compress(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    documents: Documents,
    excess: Excess,
    step: int,
) -> StageResult[Rewriting]:
    """Ask for a shorter text of a candidate's primary document.

    What cannot be reached is not asked for: protected parts stay as long as they are.
    """
    text = documents.of(state.plan.primary)
    outline = SkillDocument.parse(text).outline()
    room = (excess.allowed - (len(text) - len(outline))) // CHARACTERS_PER_TOKEN
    if room <= 0:
        return StageResult(Rewriting(None, "its protected parts alone are too long"))
    answer = ask(
        state,
        facts,
        factory,
        stage="compress",
        messages=messages_for(state, outline, room),
        parse=parse_rewrite,
        label=f"step {step} / compress",
    )
    return rewriting_of(text, answer)


def messages_for(state: RunState, outline: str, room: int) -> tuple[Message, ...]:
    limit = (
        f"At most {room} tokens, which is about {room * CHARACTERS_PER_TOKEN} characters. "
        f"The text above has about {tokens_of(len(outline))} tokens."
    )
    sections = [
        section(f"Current {state.plan.primary}", fenced(outline)),
        section("Limit", limit),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, "compress")),
        Message(role="user", content="\n".join(sections)),
    )

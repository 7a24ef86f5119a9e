"""Compressing a candidate that is longer than `optimizer.max_skill_tokens`, asked for once."""

from __future__ import annotations

from skillopt.domain.documents import Documents
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.ask import ask
from skillopt.loop.candidate import candidate_or_skip
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.length import Excess, excess_of, tokens_of
from skillopt.loop.prompt_parts import CHARACTERS_PER_TOKEN, fenced, section, system_prompt
from skillopt.loop.replies import parse_rewrite
from skillopt.loop.rewrite import Rewriting, rewriting_of


def shortened(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    documents: Documents,
    found: Proposed | Skipped,
    problem: str,
    label: str,
) -> StageResult[Proposed | Skipped]:
    """Give what was found of a candidate's documents; if they are too long, ask once for a
    shorter text. One that is still too long is dropped with its figures.

    `problem` is what went wrong on the way to the documents.
    """
    excess = excess_of(state, documents)
    if isinstance(found, Proposed) or found.reason != "too_long" or excess is None:
        return StageResult(found)
    asked = _compress(state, facts, factory, documents, excess, label)
    if asked.event is None:
        return StageResult(wanted=asked.wanted, given_up=asked.given_up)
    if asked.event.text is None:
        detail = f"{found.detail}; not compressed: {asked.event.problem}"
        return StageResult(found.model_copy(update={"detail": detail}))
    shorter = candidate_or_skip(
        state,
        documents.with_text(state.plan.primary, asked.event.text),
        step=found.step,
        source=found.source,
        how="compressed",
        reports=found.reports,
        problem="; ".join(filter(None, [problem, asked.event.problem])),
    )
    if isinstance(shorter, Skipped) and shorter.reason == "too_long":
        detail = f"{found.detail}; compressed, it has {shorter.detail}"
        shorter = shorter.model_copy(update={"detail": detail})
    return StageResult(shorter)


def _compress(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    documents: Documents,
    excess: Excess,
    label: str,
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
        label=label,
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

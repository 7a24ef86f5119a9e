"""Meta skill: what the optimizer remembers about editing. The target never sees it.

Without a usable reply the last good memory stays.
"""

from __future__ import annotations

from skillopt.domain.events import MetaLearned
from skillopt.domain.run import RunState
from skillopt.loop.ask import ask
from skillopt.loop.comparison import Comparison, messages_for
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import fenced, section
from skillopt.loop.replies import parse_meta_skill
from skillopt.loop.slow_update import nothing_to_learn_from


def learn(
    state: RunState, facts: Facts, factory: JobFactory, comparison: Comparison
) -> StageResult[MetaLearned]:
    """Ask for a new memory, from the documents before the slow update."""
    epoch = comparison.compared.epoch
    if not comparison.pairs:
        return StageResult(_kept(state, epoch, nothing_to_learn_from(comparison)))
    memory = fenced(state.meta_skill) if state.meta_skill else "(none)"
    answer = ask(
        state,
        facts,
        factory,
        stage="meta_skill",
        messages=messages_for(
            state, comparison, "meta_skill", [section("Existing memory", memory)]
        ),
        parse=parse_meta_skill,
        label=f"epoch {epoch} / meta skill",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    if answer.value is None:
        return StageResult(_kept(state, epoch, answer.problem))
    status = "repaired" if answer.status == "repaired" else "ok"
    content = answer.value.content
    problem = "; ".join(filter(None, [answer.problem, *answer.value.problems]))
    return StageResult(MetaLearned(epoch=epoch, content=content, status=status, problem=problem))


def _kept(state: RunState, epoch: int, problem: str) -> MetaLearned:
    return MetaLearned(epoch=epoch, content=state.meta_skill, status="kept", problem=problem)

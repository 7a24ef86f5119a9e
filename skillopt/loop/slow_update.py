"""Slow update: guidance from the comparison of two epochs, kept in a region of its own.

The guidance makes a candidate like any other: it is measured on val before it is used, also where
it is adopted whatever the gate says. Its body is that of the current document, unless the two
together are too long and have to be compressed.
"""

from __future__ import annotations

from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.run import RunState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.ask import ask
from skillopt.loop.candidate import candidate_or_skip
from skillopt.loop.comparison import Comparison, messages_for
from skillopt.loop.compress import shortened
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.replies import parse_slow_update


def propose_guidance(
    state: RunState, facts: Facts, factory: JobFactory, comparison: Comparison, step: int
) -> StageResult[Proposed | Skipped]:
    """Ask for guidance and give the candidate that has it, or why there is none."""
    if not comparison.pairs:
        return StageResult(_no_content(step, nothing_to_learn_from(comparison)))
    answer = ask(
        state,
        facts,
        factory,
        stage="slow_update",
        messages=messages_for(state, comparison, "slow_update"),
        parse=parse_slow_update,
        label=f"epoch {comparison.compared.epoch} / slow update",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    if answer.value is None:
        return StageResult(_no_content(step, answer.problem))
    documents, primary = state.texts[state.current], state.plan.primary
    document = SkillDocument.parse(documents.of(primary))
    text = document.with_region("SLOW_UPDATE", answer.value.content).render()
    guided = documents.with_text(primary, text)
    problem = "; ".join(filter(None, [answer.problem, *answer.value.problems]))
    found = candidate_or_skip(
        state, guided, step=step, source="slow_update", how="guidance", problem=problem
    )
    label = f"epoch {comparison.compared.epoch} / compress"
    return shortened(state, facts, factory, guided, found, problem, label)


def nothing_to_learn_from(comparison: Comparison) -> str:
    compared = comparison.compared
    if compared.policy == "changed" and compared.previous == compared.current:
        return "the document did not change in this epoch, so no task can have"
    n = len(compared.sampled)
    return f"no pair to learn from: {n} tasks were compared, the policy is {compared.policy!r}"


def _no_content(step: int, detail: str) -> Skipped:
    return Skipped(step=step, source="slow_update", reason="no_content", detail=detail)

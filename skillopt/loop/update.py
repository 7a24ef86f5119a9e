"""Update: apply the selected edits and see whether a new candidate comes of it."""

from __future__ import annotations

from skillopt.domain.edits import Edit, apply_edits
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.run import RunState, StepState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory

#: A rough count that needs no tokenizer; the limit it serves is rough as well.
CHARACTERS_PER_TOKEN = 4


def update(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Proposed | Skipped]:
    """Give the candidate, or why there is none: nothing to try is dropped before any rollout."""
    return StageResult(_candidate(state, step))


def _candidate(state: RunState, step: StepState) -> Proposed | Skipped:
    assert step.selected is not None
    number = step.started.step
    if not step.selected.edits:
        return Skipped(step=number, reason="no_edits", detail="no edit was proposed")
    edits = [change for change in step.selected.edits if isinstance(change, Edit)]
    applied = apply_edits(SkillDocument.parse(state.texts[state.current].skill), edits)
    text = applied.document.render()
    documents = state.texts[state.current].with_text("skill", text)
    skill = state.plan.key_of(documents)
    if skill == state.current:
        detail = "no edit changed the document"
        return Skipped(step=number, reason="no_change", detail=detail, reports=applied.reports)
    if skill in state.rejected or (skill in state.texts and skill != state.current):
        detail = f"document {skill[:16]} was tried before"
        return Skipped(
            step=number, reason="already_rejected", detail=detail, reports=applied.reports
        )
    limit = state.plan.settings.optimizer.max_skill_tokens
    if limit is not None and len(text) > limit * CHARACTERS_PER_TOKEN:
        tokens = -(-len(text) // CHARACTERS_PER_TOKEN)
        detail = f"about {tokens} tokens, max_skill_tokens is {limit}"
        return Skipped(step=number, reason="too_long", detail=detail, reports=applied.reports)
    return Proposed(
        step=number,
        parent=state.current,
        skill=skill,
        text=text,
        memory=documents.memory,
        reports=applied.reports,
    )

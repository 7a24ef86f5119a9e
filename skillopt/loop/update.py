"""Update: apply the selected edits and see whether a new candidate comes of it."""

from __future__ import annotations

from skillopt.domain.edits import apply_edits
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.run import RunState, StepState
from skillopt.domain.skill import SkillDocument

#: A rough count that needs no tokenizer; the limit it serves is rough as well.
CHARACTERS_PER_TOKEN = 4


def update(state: RunState, step: StepState) -> Proposed | Skipped:
    """Give the candidate, or why there is none: nothing to try is dropped before any rollout."""
    assert step.selected is not None
    number = step.started.step
    if not step.selected.edits:
        return Skipped(step=number, reason="no_edits", detail="no edit was proposed")
    applied = apply_edits(SkillDocument.parse(state.texts[state.current]), step.selected.edits)
    text = applied.document.render()
    skill = text_hash(text)
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
        step=number, parent=state.current, skill=skill, text=text, reports=applied.reports
    )

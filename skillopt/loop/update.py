"""Update: make the candidate of a step of what was selected and of what was noted.

Changes and notes are one candidate: no text reaches the current document unmeasured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skillopt.domain.changes import Rewrite
from skillopt.domain.documents import Documents
from skillopt.domain.edits import Edit, EditReport, apply_to_documents
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.notes import render_notes
from skillopt.domain.run import RunState, StepState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.candidate import How, candidate_or_skip
from skillopt.loop.compress import shortened
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.rewrite import Rewriting, rewrite, rewritten


@dataclass(frozen=True)
class _Draft:
    documents: Documents
    how: How = "edits"
    reports: tuple[EditReport, ...] = ()
    problem: str = ""
    #: Whether changes were selected and no document came of them.
    failed: bool = False


def update(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Proposed | Skipped]:
    """Give the candidate, or why there is none: nothing to try is dropped before any rollout."""
    assert step.selected is not None
    number, has_notes = step.started.step, _has_news(step)
    if not step.selected.edits and not has_notes:
        return StageResult(Skipped(step=number, reason="no_edits", detail=_why_nothing(step)))
    drafted = _drafted(state, facts, factory, step)
    draft = drafted.event
    if draft is None:
        return StageResult(wanted=drafted.wanted, given_up=drafted.given_up)
    if draft.failed and not has_notes:
        detail = draft.problem or "no rewrite has any text"
        return StageResult(Skipped(step=number, reason="no_rewrite", detail=detail))
    if has_notes:
        draft = replace(draft, documents=_with_notes(state, draft.documents, step))
    found = candidate_or_skip(
        state,
        draft.documents,
        step=number,
        source="step",
        how=draft.how,
        reports=draft.reports,
        problem=draft.problem,
    )
    label = f"step {number} / compress"
    return shortened(state, facts, factory, draft.documents, found, draft.problem, label)


def _drafted(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[_Draft]:
    """Apply the selected changes to the current documents, in the form they have."""
    assert step.selected is not None
    current, changes = state.texts[state.current], step.selected.edits
    if not changes:
        return StageResult(_Draft(current))
    mode = state.plan.settings.optimizer.skill_update_mode
    if mode == "rewrite_from_suggestions":
        asked = rewrite(state, facts, factory, step)
        if asked.event is None:
            return StageResult(wanted=asked.wanted, given_up=asked.given_up)
        return StageResult(_rewritten_draft(state, asked.event))
    if mode == "full_rewrite_minibatch":
        texts = [one.new_skill for one in changes if isinstance(one, Rewrite)]
        usable = next((text for text in texts if text.strip()), "")
        return StageResult(
            _rewritten_draft(state, rewritten(current.of(state.plan.primary), usable))
        )
    edits = [change for change in changes if isinstance(change, Edit)]
    applied = apply_to_documents(current, edits, state.plan.evolving)
    return StageResult(_Draft(applied.documents, reports=applied.reports))


def _rewritten_draft(state: RunState, rewriting: Rewriting) -> _Draft:
    current = state.texts[state.current]
    if rewriting.text is None:
        return _Draft(current, problem=rewriting.problem, failed=True)
    documents = current.with_text(state.plan.primary, rewriting.text)
    return _Draft(documents, "rewrite", problem=rewriting.problem)


def _has_news(step: StepState) -> bool:
    """Whether the appendix of the candidate differs from the present one."""
    return step.noted is not None and (
        bool(step.noted.added) or step.noted.status == "consolidated"
    )


def _with_notes(state: RunState, documents: Documents, step: StepState) -> Documents:
    assert step.noted is not None
    primary = state.plan.primary
    document = SkillDocument.parse(documents.of(primary))
    noted = document.with_region("APPENDIX", render_notes(step.noted.notes))
    return documents.with_text(primary, noted.render())


def _why_nothing(step: StepState) -> str:
    if step.merged and step.merged.edits and step.edit_budget == 0:
        return "the optimizer chose to apply no edit"
    groups = step.reflected.groups if step.reflected else ()
    blocked = sum(len(group.blocked) for group in groups)
    blocked += len(step.merged.blocked) if step.merged else 0
    if blocked:
        return f"the copy guard took out all {blocked} that repeat a training task's text"
    return "no edit was proposed"

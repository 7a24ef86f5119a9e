"""The appendix: reminders for rules that exist and were not followed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from skillopt.domain.events import Noted
from skillopt.domain.messages import Message
from skillopt.domain.notes import add_notes, notes_in
from skillopt.domain.run import RunState, StepState
from skillopt.domain.skill import SkillDocument
from skillopt.loop.ask import Answer, ask
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import section, system_prompt
from skillopt.loop.replies import NotesReply, parse_notes

#: Notes that one step may add: a list that nobody reads reminds of nothing.
NEW_NOTES = 20


def note(state: RunState, facts: Facts, factory: JobFactory, step: StepState) -> StageResult[Noted]:
    """Collect the notes of the step's analysts into the appendix of its candidate."""
    number = step.started.step
    text = state.texts[state.current].of(state.plan.primary)
    existing = notes_in(SkillDocument.parse(text).appendix)
    _, fresh = add_notes(existing, _collected(state, step))
    notes, added = add_notes(existing, fresh[:NEW_NOTES])
    left_out = len(fresh) - len(added)
    problem = f"{left_out} notes beyond {NEW_NOTES} are left out" if left_out else ""
    kept = Noted(step=number, notes=notes, added=added, problem=problem)
    threshold = state.plan.settings.optimizer.skill_aware_consolidate_threshold
    if not added or threshold == 0 or len(notes) <= threshold:
        return StageResult(kept)
    answer = ask(
        state,
        facts,
        factory,
        stage="consolidate",
        messages=messages_for(state, notes),
        parse=parse_notes,
        label=f"step {number} / consolidate",
    )
    if answer.wanted:
        return StageResult(wanted=(answer.wanted,))
    if answer.status == "given_up":
        return StageResult(given_up=answer.problem)
    return StageResult(_condensed(kept, existing, answer))


def messages_for(state: RunState, notes: Sequence[str]) -> tuple[Message, ...]:
    rows = json.dumps(list(notes), ensure_ascii=False, indent=1)
    return (
        Message(role="system", content=system_prompt(state.plan, "consolidate")),
        Message(role="user", content=section("Notes", rows)),
    )


def _collected(state: RunState, step: StepState) -> list[str]:
    assert step.reflected is not None
    failures_only = state.plan.settings.optimizer.skill_aware_appendix_source == "failure_only"
    return [
        one
        for group in step.reflected.groups
        if not (failures_only and group.kind == "success")
        for one in group.notes
    ]


def _condensed(kept: Noted, existing: Sequence[str], answer: Answer[NotesReply]) -> Noted:
    """Use the reply only if it is shorter and not empty."""
    replied: tuple[str, ...] = ()
    problems = [kept.problem, answer.problem]
    if answer.value:
        replied, _ = add_notes((), answer.value.notes)
        problems += answer.value.problems
        if not replied:
            problems.append("condensing left no note")
        elif len(replied) >= len(kept.notes):
            problems.append(f"condensing {len(kept.notes)} notes gave {len(replied)}")
    problem = "; ".join(filter(None, problems))
    if not replied or len(replied) >= len(kept.notes):
        return kept.model_copy(update={"status": "fallback", "problem": problem})
    _, added = add_notes(existing, replied)
    return Noted(step=kept.step, notes=replied, added=added, status="consolidated", problem=problem)

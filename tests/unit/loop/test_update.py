from __future__ import annotations

from dataclasses import replace

import pytest
from loop_values import edit, selected, step_of, with_step
from scripted_run import SKILL, ScriptedRun, make_plan

from skillopt.domain.events import Proposed, Skipped, StepStarted
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.run import RunState, StepState
from skillopt.loop.update import update


def begun(*edits, **optimizer) -> tuple[RunState, StepState]:
    """Give a step that selected these edits."""
    settings = {"learning_rate": 4, "min_learning_rate": 1, **optimizer}
    run = ScriptedRun(make_plan(settings={"optimizer": settings})).until(StepStarted)
    step = selected(step_of(run), edits)
    return with_step(run.state, step), step


def test_a_changed_document_is_a_candidate():
    state, step = begun(edit("Name your sources."))
    found = update(state, step)
    assert isinstance(found, Proposed)
    assert found.text == f"{SKILL}\nName your sources.\n"
    assert (found.skill, found.parent) == (text_hash(found.text), state.current)
    assert [report.status for report in found.reports] == ["applied_append"]


def test_without_edits_the_step_is_skipped():
    found = update(*begun())
    assert isinstance(found, Skipped)
    assert found.reason == "no_edits"


@pytest.mark.parametrize(
    "no_op",
    [
        edit("x", "replace", "a text that is not there"),
        edit("Be brief.", "replace", "Be brief."),
        edit("", "append"),
    ],
    ids=["missing target", "same text", "nothing"],
)
def test_a_document_that_did_not_change_is_dropped_before_any_rollout(no_op):
    found = update(*begun(no_op))
    assert isinstance(found, Skipped)
    assert found.reason == "no_change"
    assert len(found.reports) == 1, "what became of the edit is still told"


def test_a_text_that_was_rejected_before_is_dropped():
    state, step = begun(edit("Name your sources."))
    candidate = update(state, step)
    assert isinstance(candidate, Proposed)
    state = replace(state, rejected=frozenset({candidate.skill}))
    found = update(state, step)
    assert isinstance(found, Skipped)
    assert found.reason == "already_rejected"
    assert candidate.skill[:16] in found.detail


def test_a_text_that_was_left_behind_is_not_tried_again():
    """Going back to an earlier document would be a loop, and its score is known."""
    state, step = begun(edit("Be brief.", "replace", "Be very brief."))
    later = SKILL.replace("Be brief.", "Be very brief.")
    texts = {**state.texts, text_hash(later): later}
    state = replace(state, texts=texts, current=text_hash(later))
    found = update(state, step)
    assert isinstance(found, Skipped)
    assert found.reason == "already_rejected"


def test_a_document_over_the_limit_is_dropped_and_says_by_how_much():
    found = update(*begun(edit("x" * 100), max_skill_tokens=20))
    assert isinstance(found, Skipped)
    assert found.reason == "too_long"
    assert found.detail == "about 33 tokens, max_skill_tokens is 20"


def test_a_document_at_the_limit_is_kept():
    state, step = begun(edit("x" * 100))
    candidate = update(state, step)
    assert isinstance(candidate, Proposed)
    exactly = -(-len(candidate.text) // 4)
    assert isinstance(update(*begun(edit("x" * 100), max_skill_tokens=exactly)), Proposed)
    assert isinstance(update(*begun(edit("x" * 100), max_skill_tokens=exactly - 1)), Skipped)


def test_an_edit_that_cannot_be_applied_does_not_stop_the_others():
    state, step = begun(edit("x", "delete", "not there"), edit("Name your sources."))
    found = update(state, step)
    assert isinstance(found, Proposed)
    assert [report.status for report in found.reports] == [
        "skipped_target_missing",
        "applied_append",
    ]

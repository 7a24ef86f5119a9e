"""What analysts are told of earlier steps, so that no dead end is bought twice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from loop_values import edit, measurement
from scripted_run import ScriptedRun, make_plan

from skillopt.domain.changes import Change, Rewrite, Suggestion
from skillopt.domain.events import Gated, Noted, Proposed, Selected, Skipped, StepStarted
from skillopt.domain.run import RunState, StepState
from skillopt.loop.earlier_steps import earlier_steps_section
from skillopt.loop.gate import PROTECTED_WORSE


def step(
    number: int,
    *changes: Change,
    epoch: int = 1,
    verdict: str = "reject",
    parent: str = "p",
    **gated: Any,
) -> StepState:
    started = StepStarted(step=number, epoch=epoch, skill=parent, items=(), edit_budget=2)
    return StepState(
        started,
        selected=Selected(step=number, edits=changes, how="all"),
        proposed=Proposed(step=number, parent=parent, skill=f"c{number}", text="x"),
        gated=Gated.model_validate(
            {
                "step": number,
                "skill": f"c{number}",
                "verdict": verdict,
                "metric": "hard",
                "candidate_score": 0.5,
                "current_score": 0.5,
                "pairs": 2,
                "reason": f"reason {number}",
                "measurement": measurement(),
                **gated,
            }
        ),
    )


def now(number: int, epoch: int = 1, parent: str = "p") -> StepState:
    return StepState(StepStarted(step=number, epoch=epoch, skill=parent, items=(), edit_budget=2))


def state_of(*steps: StepState, history_tokens: int = 2_000) -> RunState:
    plan = make_plan(settings={"gradient": {"history_tokens": history_tokens}})
    return replace(ScriptedRun(plan).state, steps=steps)


def told(current: StepState, *before: StepState, history_tokens: int = 2_000) -> str:
    state = state_of(*before, current, history_tokens=history_tokens)
    return "".join(earlier_steps_section(state, current))


def test_the_first_step_is_told_nothing():
    assert told(now(1)) == ""


def test_rejected_edits_are_told_in_full_with_the_gates_reason():
    one = step(
        1,
        edit('Say "é".'),
        edit("new", op="replace", target="old"),
        edit("", op="delete", target="gone"),
    )
    assert told(now(2), one) == (
        "## Earlier steps\n\n"
        "- Step 1 was REJECTED: reason 1. What it tried:\n"
        '  - append: "Say \\"é\\"."\n'
        '  - replace: "new" (at "old")\n'
        '  - delete: "gone"\n'
    )


def test_suggestions_rewrites_and_notes_are_told_too():
    one = step(1, Suggestion(type="clarify", instruction="Say who."))
    two = step(2, Rewrite(title="Shorter", change_summary=("fewer rules",), new_skill="# SECRET"))
    three = step(3, Rewrite(new_skill="# SECRET"))
    noted = Noted(step=3, notes=("Old.", "New."), added=("New.",))
    text = told(now(4), one, two, replace(three, noted=noted))
    assert '  - clarify: "Say who."' in text
    assert '  - rewrite: "Shorter"\n    - "fewer rules"' in text
    assert '  - rewrite: "a complete new version"' in text
    assert '  - note: "New."' in text
    assert "Old." not in text
    assert "SECRET" not in text


def test_a_step_without_a_candidate_says_why_and_what_it_tried():
    skipped = Skipped(step=1, reason="already_rejected", detail="document c1 was tried before")
    one = replace(step(1, edit("Again.")), gated=None, proposed=None, skipped=skipped)
    text = told(now(2), one)
    assert "Step 1 had no candidate (already_rejected: document c1 was tried before)." in text
    assert '- append: "Again."' in text


def test_verdicts_have_their_own_words():
    text = told(
        now(4),
        step(1, verdict="accept"),
        step(2, verdict="underpowered"),
        step(3, forced=True),
    )
    assert "Step 1 was ACCEPTED: reason 1" in text
    assert "Step 2 was NOT ACCEPTED: reason 2" in text
    assert "Step 3 was REJECTED by the gate and kept all the same: reason 3" in text


def test_of_other_epochs_only_what_was_rejected_from_the_same_document_is_told():
    before = (
        step(1, edit("from elsewhere"), parent="q"),
        step(2, edit("same parent")),
        step(3, edit("taken over"), verdict="accept"),
        step(4, edit("forced in"), forced=True),
        step(5, edit("weak"), verdict="underpowered"),
        step(6, edit("this epoch"), epoch=2, parent="q"),
    )
    text = told(now(7, epoch=2), *before)
    tried = [line.split('"')[1] for line in text.splitlines() if "append" in line]
    assert tried == ["same parent", "weak", "this epoch"]


def test_the_newest_steps_are_kept_and_the_others_counted():
    before = [step(n, edit(f"rule {n} " + "x" * 300)) for n in range(1, 9)]
    text = told(now(9), *before, history_tokens=200)
    assert text.splitlines()[2] == "- 6 earlier steps are left out here."
    assert "rule 8" in text
    assert "rule 7" in text
    assert "rule 6" not in text
    assert text.index("Step 7") < text.index("Step 8")
    assert len(text) < 200 * 4 + 150


def test_a_single_step_that_is_too_long_is_cut_not_left_out():
    one = step(1, *(edit(f"rule {n} " + "x" * 200) for n in range(40)))
    text = told(now(2), one, history_tokens=100)
    assert "Step 1 was REJECTED: reason 1" in text
    assert "characters left out" in text
    assert len(text) < 100 * 4 + 150


def test_one_endless_edit_does_not_crowd_out_the_others():
    text = told(now(2), step(1, edit("y" * 50_000), edit("short")))
    assert '"short"' in text
    assert len(text) < 1_000


def test_a_step_under_way_is_not_told():
    assert told(now(2), replace(step(1), gated=None)) == ""
    assert told(now(2), step(1, verdict="indecisive")) == ""


def test_no_val_task_is_named():
    """Held-out tasks are for the gate: analysts learn that some got worse, not which."""
    worse = step(1, reason=f"hard rose from 0.1 to 0.2, but {PROTECTED_WORSE}: val-7, val-9")
    text = told(now(2), worse)
    assert f"Step 1 was REJECTED: hard rose from 0.1 to 0.2, but {PROTECTED_WORSE}. What" in text
    assert "val-" not in text

from __future__ import annotations

import pytest
from loop_values import measurement
from scripted_run import ScriptedRun

from skillopt.domain.events import (
    Finished,
    Gated,
    GaveUp,
    Measured,
    Merged,
    Paused,
    Proposed,
    Resumed,
    StepStarted,
    decode_event,
    encode_event,
)
from skillopt.domain.spec import Budget
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import apply, fold


def gated(verdict: str, skill: str = "new", *, step: int = 1, new_best: bool = False) -> Gated:
    return Gated.model_validate(
        {
            "step": step,
            "skill": skill,
            "verdict": verdict,
            "new_best": new_best,
            "metric": "hard",
            "candidate_score": 1.0,
            "current_score": 0.0,
            "pairs": 1,
            "reason": "because",
            "measurement": measurement(skill, a=1.0),
        }
    )


def in_step():
    return ScriptedRun().until(StepStarted).state


def test_a_log_must_begin_with_the_creation():
    run = ScriptedRun()
    with pytest.raises(StateCorrupt, match="must begin with its creation"):
        fold(run.plan, [])
    with pytest.raises(StateCorrupt, match="must begin with its creation"):
        fold(run.plan, [GaveUp(jobs={})])


def test_a_run_is_created_once():
    run = ScriptedRun()
    with pytest.raises(StateCorrupt, match="created once"):
        fold(run.plan, [run.events[0], run.events[0]])


def test_an_event_of_a_step_outside_a_step_is_corruption():
    run = ScriptedRun()
    with pytest.raises(StateCorrupt, match="outside a step"):
        apply(run.state, Merged(step=1, edits=()))


def test_replaying_the_log_gives_the_same_state():
    run = ScriptedRun().finish()
    assert fold(run.plan, run.events) == run.state
    stored = [decode_event(encode_event(event)) for event in run.events]
    assert fold(run.plan, stored) == run.state


def test_folding_changes_no_earlier_state():
    run = ScriptedRun()
    states, copies = [], []
    while run.advance():
        states.append(run.state)
        copies.append(repr(run.state))
    assert [repr(state) for state in states] == copies


def test_a_new_run_has_its_initial_document_as_current_and_best():
    state = ScriptedRun().state
    assert state.current == state.best == state.plan.initial_key
    assert state.texts == {state.plan.initial_key: state.plan.skill}
    assert (state.status, state.step, state.val) == ("running", None, None)


def test_an_accepted_candidate_becomes_current_and_with_new_best_also_best():
    before = in_step()
    after = apply(before, gated("accept"))
    assert (after.current, after.best) == ("new", before.best)
    best = apply(before, gated("accept", new_best=True))
    assert (best.current, best.best, best.best_step) == ("new", "new", 1)
    assert best.measured[("new", "val")] == measurement("new", a=1.0)


def test_a_rejected_candidate_is_remembered_and_changes_nothing_else():
    before = in_step()
    after = apply(before, gated("reject"))
    assert (after.current, after.best) == (before.current, before.best)
    assert after.rejected == {"new"}
    assert after.step is None


def test_best_never_changes_without_an_accept_even_if_the_record_claims_it():
    before = in_step()
    for verdict in ("reject", "indecisive"):
        assert apply(before, gated(verdict, new_best=True)).best == before.best


def test_an_indecisive_gate_leaves_the_step_open_and_measures_nothing():
    after = apply(in_step(), gated("indecisive"))
    assert after.step is not None
    assert ("new", "val") not in after.measured
    assert after.rejected == frozenset()


def test_a_proposed_text_is_kept_by_its_hash():
    proposed = Proposed(step=1, parent="old", skill="new", text="# New\n", reports=())
    assert apply(in_step(), proposed).texts["new"] == "# New\n"


def test_measurements_outside_a_gate_do_not_touch_best():
    before = ScriptedRun().state
    after = apply(before, Measured(measurement=measurement("other", a=1.0)))
    assert (after.current, after.best) == (before.current, before.best)
    assert after.measured[("other", "val")].hard == 1.0


def test_a_pause_ends_with_the_resumption_which_also_forgets_what_was_given_up():
    state = ScriptedRun().state
    state = apply(state, GaveUp(jobs={"j1": "429"}))
    state = apply(state, GaveUp(jobs={"j2": "500"}))
    state = apply(state, Paused(why="coverage", detail="two items"))
    assert (state.status, state.given_up) == ("paused", {"j1": "429", "j2": "500"})
    state = apply(state, Resumed(budget=Budget(max_calls=9)))
    assert (state.status, state.given_up, state.budget.max_calls) == ("running", {}, 9)


def test_a_finished_run_is_finished():
    state = apply(ScriptedRun().state, Finished(reason="completed", best="x"))
    assert state.status == "finished"

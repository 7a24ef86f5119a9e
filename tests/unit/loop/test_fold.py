from __future__ import annotations

import pytest
from loop_values import measurement
from scripted_run import ScriptedRun, make_plan

from skillopt.domain.documents import Documents
from skillopt.domain.events import (
    Compared,
    Finished,
    Gated,
    Measured,
    Merged,
    MetaLearned,
    Proposed,
    Skipped,
    StepStarted,
    decode_event,
    encode_event,
)
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import GaveUp, LeftOut, Paused, Resumed
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import apply, fold


def gated(verdict: str, skill: str = "new", **more: object) -> Gated:
    return Gated.model_validate(
        {
            "step": 1,
            "skill": skill,
            "verdict": verdict,
            "metric": "hard",
            "candidate_score": 1.0,
            "current_score": 0.0,
            "pairs": 1,
            "reason": "because",
            "measurement": measurement(skill, a=1.0),
            **more,
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
    with pytest.raises(StateCorrupt, match="outside that step"):
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
    assert state.texts == {state.plan.initial_key: state.plan.initial}
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


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("verdict", ["reject", "underpowered", "indecisive"])
def test_best_never_changes_without_an_accept_even_if_the_record_claims_it(verdict, forced):
    before = in_step()
    assert apply(before, gated(verdict, new_best=True, forced=forced)).best == before.best


def test_a_forced_candidate_becomes_current_with_its_own_measurement():
    after = apply(in_step(), gated("reject", forced=True))
    assert after.current == "new"
    assert after.rejected == frozenset()
    assert after.val == measurement("new", a=1.0)


def test_what_an_early_decision_measured_is_no_measurement():
    after = apply(in_step(), gated("reject", early=True))
    assert ("new", "val") not in after.measured
    assert after.rejected == {"new"}
    with pytest.raises(StateCorrupt, match="without a whole measurement"):
        apply(in_step(), gated("accept", early=True))


def test_an_event_of_another_step_is_corruption():
    with pytest.raises(StateCorrupt, match="step 7 stands outside"):
        apply(in_step(), gated("accept", step=7))


# --- the end of an epoch ------------------------------------------------------------------------


def at_epoch_end():
    """Give the state after a first step was rejected and the comparison made."""
    state = apply(in_step(), gated("reject", "other"))
    compared = Compared(
        epoch=2, previous="a", current="b", policy="mixed", sampled=("t",), pairs=()
    )
    return apply(state, compared)


def slow(verdict: str, **more: object) -> Gated:
    return gated(verdict, source="slow_update", **more)


def test_a_comparison_opens_the_end_of_its_epoch():
    end = at_epoch_end().epoch_ends[2]
    assert end.compared.sampled == ("t",)
    assert not end.slow_update_ended


def test_guidance_is_proposed_and_gated_at_the_end_of_its_epoch():
    proposed = Proposed(
        step=1, source="slow_update", parent="old", skill="new", text="# New\n", how="guidance"
    )
    state = apply(at_epoch_end(), proposed)
    assert state.texts["new"] == Documents(skill="# New\n")
    assert state.epoch_ends[2].proposed == proposed
    assert state.steps[0].proposed is None
    after = apply(state, slow("accept", new_best=True))
    assert (after.current, after.best, after.best_step) == ("new", "new", 1)
    assert after.epoch_ends[2].slow_update_ended
    assert [gate.source for gate in after.gates] == ["step", "slow_update"]


def test_an_indecisive_gate_leaves_the_slow_update_open():
    after = apply(at_epoch_end(), slow("indecisive"))
    assert not after.epoch_ends[2].slow_update_ended
    assert len(after.gates) == 1


def test_guidance_without_a_candidate_ends_the_slow_update():
    skipped = Skipped(step=1, source="slow_update", reason="no_content", detail="none")
    after = apply(at_epoch_end(), skipped)
    assert after.epoch_ends[2].slow_update_ended
    assert after.steps[0].skipped is None


def test_a_memory_is_that_of_the_last_epoch_that_taught_any():
    state = at_epoch_end()
    assert state.meta_skill == ""
    learnt = MetaLearned(epoch=2, content="Be careful.", status="ok")
    after = apply(state, learnt)
    assert (after.meta_skill, after.epoch_ends[2].meta) == ("Be careful.", learnt)


def test_an_event_of_an_epoch_end_anywhere_else_is_corruption():
    learnt = MetaLearned(epoch=2, content="Be careful.", status="ok")
    for state in (ScriptedRun().state, in_step()):
        with pytest.raises(StateCorrupt, match="outside of one"):
            apply(state, learnt)


def test_an_event_of_another_epochs_end_is_corruption():
    late = MetaLearned(epoch=3, content="Be careful.", status="ok")
    elsewhere = Skipped(step=7, source="slow_update", reason="no_content")
    for event in (late, elsewhere):
        with pytest.raises(StateCorrupt, match="outside of one"):
            apply(at_epoch_end(), event)


# --- other events -------------------------------------------------------------------------------


def test_what_a_person_leaves_out_adds_up():
    state = apply(ScriptedRun().state, LeftOut(items={"a": "wrong"}))
    state = apply(state, LeftOut(items={"b": "unfair", "a": "wrong, see #7"}))
    assert state.left_out == {"a": "wrong, see #7", "b": "unfair"}


def test_the_arms_of_an_aa_run_are_kept_one_by_one():
    state = ScriptedRun(make_plan(mode="aa")).state
    for arm, score in enumerate((0.0, 1.0)):
        state = apply(state, Measured(measurement=measurement("same", a=score), arm=arm))
    assert [arm.hard for arm in state.arms] == [0.0, 1.0]
    assert state.measured == {}


def test_an_indecisive_gate_leaves_the_step_open_and_measures_nothing():
    after = apply(in_step(), gated("indecisive"))
    assert after.step is not None
    assert ("new", "val") not in after.measured
    assert after.rejected == frozenset()


def test_a_proposed_text_is_kept_by_its_hash():
    proposed = Proposed(step=1, parent="old", skill="new", text="# New\n", reports=())
    assert apply(in_step(), proposed).texts["new"] == Documents(skill="# New\n")


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

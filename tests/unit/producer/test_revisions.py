from __future__ import annotations

import pytest
from scripted_run import ScriptedRun, make_plan

from producer.revisions import find_revision
from skillopt.domain.fingerprint import short
from skillopt.domain.run import RunState
from skillopt.errors import InputError


@pytest.fixture(scope="module")
def state() -> RunState:
    return ScriptedRun(make_plan()).finish().state


def test_names_stand_for_documents(state):
    assert find_revision(state, "initial", "--at").key == state.plan.initial_key
    assert find_revision(state, "best", "--at").key == state.best
    assert find_revision(state, "final", "--at").key == state.current


def test_a_number_is_the_candidate_of_that_step(state):
    proposed = next(step.proposed for step in state.steps if step.proposed)
    found = find_revision(state, str(proposed.step), "--at")
    assert (found.key, found.documents) == (proposed.skill, proposed.documents)


def test_the_beginning_of_a_hash_is_enough(state):
    assert find_revision(state, short(state.best), "--at").key == state.best


@pytest.mark.parametrize("reference", ["", "0", "99", "abc", "newest", "-1"])
def test_anything_else_is_refused_with_what_there_is(state, reference):
    with pytest.raises(InputError, match=r"--to: .*initial, best, final, a step from 1 to"):
        find_revision(state, reference, "--to")


def test_a_step_without_a_candidate_says_so():
    settings = {"optimizer": {"learning_rate": 0, "min_learning_rate": 0}}
    state = ScriptedRun(make_plan(settings=settings)).finish().state
    with pytest.raises(InputError, match="step 1 has no candidate"):
        find_revision(state, "1", "--at")


def test_the_slow_update_of_an_epoch_is_named_as_the_curve_names_it():
    optimizer = {"learning_rate": 1, "min_learning_rate": 1, "use_slow_update": True}
    state = ScriptedRun(make_plan(settings={"optimizer": optimizer})).finish().state
    proposed = state.epoch_ends[2].proposed
    assert proposed is not None
    found = find_revision(state, "e2", "--at")
    assert (found.key, found.documents) == (proposed.skill, proposed.documents)
    assert found.label.startswith("slow update of epoch 2 ")
    with pytest.raises(InputError, match=r"a step from 1 to 4, e2 \(slow update\), or"):
        find_revision(state, "e1", "--at")

"""A run that stops waiting may leave what workers are at to its end; a cancelled run may go."""

from __future__ import annotations

import pytest
from jobs import claim, start, take_lead, want, want_all

from skillopt.state.ports import ClaimStatus, RenewStatus, State


def test_only_what_no_worker_is_at_is_given_up(state: State):
    lead = take_lead(state)
    start(state, lead, "taken")
    want(state, lead, "sent")
    state.board.unwant(lead, ["taken", "sent", "unknown"], keep_leased=True)
    assert state.claims.renew({"taken": "w1"}) == {"taken": RenewStatus.OK}
    assert not state.claims.abandon("taken", owner="w1")
    assert claim(state, "sent", owner="w2").status is ClaimStatus.UNWANTED


def test_everything_is_given_up_otherwise(state: State):
    lead = take_lead(state)
    start(state, lead, "taken")
    state.board.unwant(lead, ["taken"])
    assert state.claims.renew({"taken": "w1"}) == {"taken": RenewStatus.UNWANTED}
    assert state.claims.abandon("taken", owner="w1")


def test_a_job_that_was_given_up_is_sent_anew_when_it_is_wanted_again(state: State):
    lead = take_lead(state)
    want_all(state, lead, ["a", "b"])
    state.board.unwant(lead, ["a", "b"], keep_leased=True)
    assert claim(state, "a").status is ClaimStatus.UNWANTED
    start(state, lead, "a")


@pytest.mark.parametrize(("status", "goes"), [("cancelled", True), ("paused", False)])
def test_a_run_that_was_cancelled_can_be_removed(state: State, status: str, goes: bool):
    lead = take_lead(state)
    state.runs.step(lead, version=0, events=["{}"], status=status, open=False)
    state.runs.resign(lead)
    assert (state.archive.remove("r1") is not None) == goes
    assert (state.runs.info("r1") is None) == goes

"""What people ask of a run waits, in order, until its lead has done it."""

from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State


def test_requests_wait_in_order_until_they_are_settled(state: State):
    first, second = state.requests.post("r", "one"), state.requests.post("r", "two")
    assert first != second
    assert [one.request for one in state.requests.pending("r")] == ["one", "two"]
    state.requests.settle("r", [first])
    assert [(one.id, one.request) for one in state.requests.pending("r")] == [(second, "two")]


def test_equal_requests_are_settled_one_by_one(state: State):
    first = state.requests.post("r", "same")
    state.requests.post("r", "same")
    state.requests.settle("r", [first, first, "9999999999999-0"])
    assert [one.request for one in state.requests.pending("r")] == ["same"]


def test_a_request_rings_its_run_and_no_other(state: State):
    mine = state.doorbell.wait("r", "", timeout_s=0)
    other = state.doorbell.wait("s", "", timeout_s=0)
    state.requests.post("r", "one")
    assert state.doorbell.wait("r", mine, timeout_s=5) != mine
    assert state.doorbell.wait("s", other, timeout_s=0) == other
    assert state.requests.pending("s") == []


def test_settling_nothing_is_harmless(state: State):
    state.requests.settle("r", [])
    assert state.requests.pending("r") == []


def test_a_request_that_nobody_takes_up_expires(adapter: Adapter):
    adapter.state.requests.post("r", "one")
    adapter.advance(adapter.timing.doorbell_ttl_s + 1)
    assert adapter.state.requests.pending("r") == []

"""An owner has no more runs open than their quota says, whoever asks at the same moment."""

from __future__ import annotations

import threading

import pytest

from skillopt.errors import QuotaExceeded
from skillopt.state.ports import OwnerQuota, State


def create(state: State, run: str, owner: str = "ann") -> bool:
    return state.runs.create(run, meta={"owner": owner}, events=["{}"], status="running")


def close(state: State, run: str, *, open: bool = False) -> None:
    """Write an event of a run after which it is open or not."""
    lead = state.runs.lead(run, "c1")
    assert lead is not None
    try:
        version = len(state.runs.log(run))
        status = "running" if open else "paused"
        state.runs.step(lead, version=version, events=["{}"], status=status, open=open)
    finally:
        state.runs.resign(lead)


def test_an_owner_without_a_quota_has_no_limit(state: State):
    assert state.quotas.get("ann") == OwnerQuota("ann")
    assert state.quotas.all() == []
    for number in range(3):
        assert create(state, f"r{number}")
    assert state.quotas.get("ann") == OwnerQuota("ann", runs=3)
    assert state.quotas.all() == [OwnerQuota("ann", runs=3)]


def test_limits_are_set_each_and_taken_back(state: State):
    state.quotas.set("zed", max_runs=2, max_window=None)
    state.quotas.set("ann", max_runs=None, max_window=16)
    create(state, "r1", owner="zed")
    assert state.quotas.all() == [OwnerQuota("ann", None, 16), OwnerQuota("zed", 2, None, runs=1)]
    state.quotas.set("zed", max_runs=None, max_window=None)
    state.quotas.set("ann", max_runs=None, max_window=None)
    assert state.quotas.all() == [OwnerQuota("zed", runs=1)]


def test_a_run_too_many_is_refused_and_leaves_nothing(state: State):
    state.quotas.set("ann", max_runs=1, max_window=None)
    create(state, "r1")
    with pytest.raises(QuotaExceeded, match=r"owner 'ann' has 1 open run.* may have 1") as refused:
        create(state, "r2")
    assert (refused.value.owner, refused.value.count, refused.value.limit) == ("ann", 1, 1)
    assert state.runs.info("r2") is None
    assert state.runs.log("r2") == []
    assert state.runs.open_runs() == ["r1"]
    assert create(state, "r3", owner="bob"), "another owner's are not counted"


def test_a_limit_of_none_at_all_lets_no_run_in(state: State):
    state.quotas.set("ann", max_runs=0, max_window=None)
    with pytest.raises(QuotaExceeded):
        create(state, "r1")


def test_creating_a_run_again_is_no_further_run(state: State):
    state.quotas.set("ann", max_runs=1, max_window=None)
    assert create(state, "r1")
    assert not create(state, "r1")


def test_a_run_that_rests_makes_room_and_needs_room_to_go_on(state: State):
    state.quotas.set("ann", max_runs=1, max_window=None)
    create(state, "r1")
    close(state, "r1")
    assert state.quotas.get("ann").runs == 0
    create(state, "r2")
    with pytest.raises(QuotaExceeded):
        close(state, "r1", open=True)
    assert len(state.runs.log("r1")) == 2, "nothing was written"
    close(state, "r2")
    close(state, "r1", open=True)
    assert state.runs.open_runs() == ["r1"]


def test_an_open_run_goes_on_under_a_quota_that_came_later(state: State):
    create(state, "r1")
    create(state, "r2")
    state.quotas.set("ann", max_runs=1, max_window=None)
    close(state, "r1", open=True)
    assert state.runs.open_runs() == ["r1", "r2"]


def test_of_many_that_come_at_once_only_as_many_as_allowed_get_in(state: State):
    state.quotas.set("ann", max_runs=3, max_window=None)
    outcomes: list[bool] = []

    def submit(number: int) -> None:
        try:
            outcomes.append(create(state, f"r{number}"))
        except QuotaExceeded:
            outcomes.append(False)

    threads = [threading.Thread(target=submit, args=[number]) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count(True), len(outcomes)) == (3, 12)
    assert len(state.runs.open_runs()) == 3

"""Runs put back as they were, and taken away after their time."""

from __future__ import annotations

import pytest
from jobs import commit, start, take_lead, want
from state_adapters import Adapter

from skillopt.errors import Fenced, StaleVersion
from skillopt.state import keys
from skillopt.state.ports import (
    Amount,
    Caps,
    Lead,
    LogEntry,
    Paid,
    RemovedRun,
    Scope,
    State,
    WantStatus,
)

ENTRIES = [LogEntry(1, 1_700_000_000.25, '{"a":1}'), LogEntry(2, 1_700_000_009.5, '{"b":"ü"}')]
PAID = Paid(
    calls={"target": 3, "judge": 1},
    input_tokens=70,
    output_tokens=7,
    micro_usd=12,
    estimated_tokens=5,
)


def put(state: State, run: str = "r1", *, open: bool = True, status: str = "running") -> bool:
    return state.archive.put_run(
        run, meta={"plan": "p", "name": "n"}, entries=ENTRIES, status=status, open=open, paid=PAID
    )


def test_a_run_is_put_back_with_its_log_times_and_spending(state: State):
    assert put(state)
    info = state.runs.info("r1")
    assert info is not None
    assert (info.meta, info.status, info.version) == ({"plan": "p", "name": "n"}, "running", 2)
    assert info.created_at == ENTRIES[0].at
    assert state.runs.log("r1") == ENTRIES
    assert state.runs.open_runs() == ["r1"]
    spend = state.budgets.spend("r1")
    assert (spend.calls["target"], spend.calls["optimizer"], spend.calls["judge"]) == (3, 0, 1)
    assert (spend.input_tokens, spend.output_tokens, spend.micro_usd) == (70, 7, 12)
    assert spend.estimated_tokens == 5


def test_a_run_that_was_put_back_goes_on(state: State):
    put(state)
    lead = state.runs.lead("r1", "c1")
    assert lead is not None
    with pytest.raises(StaleVersion):
        state.runs.step(lead, version=1, events=["{}"], status="running", open=True)
    assert state.runs.step(lead, version=2, events=["{}"], status="finished", open=False) == 3
    assert [entry.seq for entry in state.runs.log("r1")] == [1, 2, 3]


def test_a_run_that_exists_is_not_touched(state: State):
    put(state)
    other = state.archive.put_run(
        "r1", meta={}, entries=ENTRIES[:1], status="paused", open=False, paid=Paid()
    )
    assert not other
    info = state.runs.info("r1")
    assert info is not None
    assert (info.version, info.status) == (2, "running")
    assert state.budgets.spend("r1").calls["target"] == 3


def test_a_finished_run_put_back_needs_no_coordinator(state: State):
    put(state, open=False, status="finished")
    assert state.runs.open_runs() == []
    assert [info.run for info in state.runs.all()] == ["r1"]


def test_caps_count_what_was_put_back(state: State):
    put(state)
    state.budgets.set_caps("r1", Caps(calls=4))
    refused = state.budgets.reserve("r1", "x", job="j", role="target", estimate=Amount(calls=1))
    assert refused is not None
    assert refused.cap == "calls"


def test_ledger_lines_are_put_back_but_never_replaced(state: State):
    state.archive.put_ledger("r1", {"j": "line 1", "k": "line 2"})
    state.archive.put_ledger("r1", {"j": "other"})
    state.archive.put_ledger("r1", {})
    assert state.runs.ledger("r1") == {"j": "line 1", "k": "line 2"}
    answer = want(state, take_lead(state), "k")
    assert (answer.status, answer.line) == (WantStatus.HIT, "line 2")


def test_the_lead_may_say_where_the_plan_is(state: State):
    put(state)
    lead = state.runs.lead("r1", "c1")
    assert lead is not None
    state.archive.pin_plan(lead, "q")
    info = state.runs.info("r1")
    assert info is not None
    assert info.meta == {"plan": "q", "name": "n"}
    with pytest.raises(Fenced):
        state.archive.pin_plan(Lead("r1", "c2", lead.fence), "z")


def finished_run(state: State) -> Lead:
    """Have a run do one job for an owner, and finish."""
    lead = take_lead(state)
    state.budgets.join("r1", owner="alice")
    start(state, lead)
    state.budgets.reserve("r1", "x", job="j", role="target", estimate=Amount(calls=1, tokens=9))
    state.budgets.settle("r1", "x", input_tokens=5, output_tokens=4, micro_usd=3)
    commit(state)
    want(state, lead)
    state.requests.post("r1", "{}")
    state.runs.show_view("r1", "{}")
    state.runs.step(lead, version=0, events=["{}"], status="finished", open=False)
    return lead


def test_a_finished_run_is_removed_whole_and_its_owner_keeps_the_sum(adapter: Adapter):
    state = adapter.state
    state.runs.resign(finished_run(state))
    removed = state.archive.remove("r1")
    assert isinstance(removed, RemovedRun)
    assert removed.keys >= 4
    assert state.runs.info("r1") is None
    assert state.runs.all() == []
    assert state.runs.log("r1") == []
    assert state.runs.ledger("r1") == {}
    assert state.runs.view("r1") is None
    assert state.requests.pending("r1") == []
    assert not any(state.budgets.spend("r1").calls.values())
    [alice] = state.budgets.shared()
    assert alice.scope == Scope("owner", "alice")
    assert (alice.spend.calls["target"], alice.spend.input_tokens) == (1, 5)
    assert state.results.get(["j"]), "results are the cache's, not the run's"
    if adapter.client is not None:
        assert removed.bytes > 0
        names = [name.decode() for name in adapter.client.keys("so:*r1*")]
        assert [name for name in names if keys.lives_with_its_run(name)] == []


def test_a_run_that_somebody_leads_is_not_removed(adapter: Adapter):
    finished_run(adapter.state)
    assert adapter.state.archive.remove("r1") is None
    adapter.advance(adapter.timing.lead_s + 1)
    assert adapter.state.archive.remove("r1") is not None


@pytest.mark.parametrize("status", ["running", "paused"])
def test_an_unfinished_run_is_never_removed(state: State, status: str):
    put(state, status=status)
    assert state.archive.remove("r1") is None
    assert state.runs.log("r1") == ENTRIES


def test_a_run_that_is_not_there_cannot_be_removed(state: State):
    assert state.archive.remove("nobody") is None

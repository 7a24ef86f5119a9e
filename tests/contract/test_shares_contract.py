"""What runs want of a backend is known to all of them, for as long as they say so."""

from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import Demand, State

ANN = Demand("r1", "ann", wanted=2_000, weight=2)
BOB = Demand("r2", "Zoë", wanted=20, weight=4, window=8)


def test_whoever_reports_learns_of_all_demands_oldest_first(adapter: Adapter):
    shares = adapter.state.shares
    assert shares.report("gpt", BOB) == [BOB]
    adapter.advance(1)
    assert shares.report("gpt", ANN) == [BOB, ANN]
    adapter.advance(1)
    assert shares.report("gpt", BOB) == [BOB, ANN], "the same again keeps its place"
    assert shares.demands("gpt") == [BOB, ANN]


def test_the_latest_report_of_a_run_counts(state: State):
    state.shares.report("gpt", ANN)
    fewer = Demand("r1", "ann", wanted=3, weight=1, window=2)
    assert state.shares.report("gpt", fewer) == [fewer]


def test_backends_have_demands_of_their_own(state: State):
    state.shares.report("gpt", ANN)
    assert state.shares.report("sim", BOB) == [BOB]
    assert state.shares.demands("other") == []


def test_a_demand_that_is_withdrawn_is_gone(state: State):
    state.shares.report("gpt", ANN)
    state.shares.report("gpt", BOB)
    state.shares.withdraw("gpt", "r1")
    state.shares.withdraw("gpt", "r1")
    assert state.shares.demands("gpt") == [BOB]


def test_a_demand_that_is_not_repeated_lapses(adapter: Adapter):
    shares, lasts_s = adapter.state.shares, adapter.timing.demand_s
    shares.report("gpt", ANN)
    adapter.advance(lasts_s - 5)
    shares.report("gpt", BOB)
    adapter.advance(6)
    assert shares.demands("gpt") == [BOB]
    assert shares.report("gpt", ANN) == [BOB, ANN], "who comes back is the youngest"
    adapter.advance(lasts_s + 1)
    assert shares.demands("gpt") == []


def test_the_quota_of_an_owner_comes_with_their_demands_as_it_is_now(state: State):
    state.shares.report("gpt", ANN)
    state.shares.report("gpt", BOB)
    state.quotas.set("ann", max_runs=None, max_window=7)
    limits = {one.run: one.owner_window for one in state.shares.demands("gpt")}
    assert limits == {"r1": 7, "r2": None}
    state.quotas.set("ann", max_runs=1, max_window=None)
    assert {one.owner_window for one in state.shares.report("gpt", ANN)} == {None}

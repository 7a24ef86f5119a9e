"""Budgets of owners and teams: what several runs may spend together."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from state_adapters import Adapter

from skillopt.state.ports import Amount, Cap, Caps, Refusal, Scope, SharedBudget, Spend, State

ESTIMATE = Amount(calls=1, tokens=100, micro_usd=50)
ALICE, BLUE = Scope("owner", "alice"), Scope("team", "blue")
NO_CALLS = {"target": 0, "optimizer": 0, "judge": 0}


def reserve(state: State, run: str, name: str = "a") -> Refusal | None:
    return state.budgets.reserve(run, name, job="j", role="target", estimate=ESTIMATE)


def settle(state: State, run: str, name: str = "a") -> None:
    state.budgets.settle(run, name, input_tokens=70, output_tokens=20, micro_usd=45)


def shared(state: State, scope: Scope) -> SharedBudget:
    return next(budget for budget in state.budgets.shared() if budget.scope == scope)


@pytest.fixture
def two_runs(state: State) -> State:
    """Give a state where r1 and r2 are Alice's; r1 is the blue team's as well."""
    state.budgets.join("r1", owner="alice", team="blue")
    state.budgets.join("r2", owner="alice")
    return state


def test_nobody_shares_anything_at_first(state: State):
    reserve(state, "r1")
    assert state.budgets.shared() == []


def test_a_run_that_joins_is_listed_with_nothing_spent(two_runs: State):
    assert two_runs.budgets.shared() == [
        SharedBudget(ALICE, Caps(), Spend(calls=NO_CALLS)),
        SharedBudget(BLUE, Caps(), Spend(calls=NO_CALLS)),
    ]


def test_every_call_counts_with_all_who_pay_for_it(two_runs: State):
    reserve(two_runs, "r1")
    reserve(two_runs, "r2")
    assert shared(two_runs, ALICE).spend.reserved == Amount(calls=2, tokens=200, micro_usd=100)
    assert shared(two_runs, BLUE).spend.reserved == ESTIMATE
    settle(two_runs, "r1")
    settle(two_runs, "r1")
    settle(two_runs, "r2")
    alice, blue = shared(two_runs, ALICE).spend, shared(two_runs, BLUE).spend
    assert (alice.calls["target"], alice.input_tokens, alice.micro_usd) == (2, 140, 90)
    assert (blue.calls["target"], blue.input_tokens, blue.micro_usd) == (1, 70, 45)
    assert alice.reserved == blue.reserved == Amount()


@pytest.mark.parametrize(("cap", "limit"), [("calls", 2), ("tokens", 279), ("usd", 139)])
def test_a_shared_cap_holds_over_all_runs(two_runs: State, cap: Cap, limit: int):
    two_runs.budgets.set_shared_caps(ALICE, {cap: limit})
    for run in ("r1", "r2"):
        assert reserve(two_runs, run) is None
        settle(two_runs, run)
    refusal = Refusal(ALICE, cap)
    assert reserve(two_runs, "r1", "b") == refusal
    assert two_runs.budgets.spend("r1").refused == refusal
    assert two_runs.budgets.spend("r2").refused is None, "it was not refused anything"
    two_runs.budgets.set_shared_caps(ALICE, {cap: 10_000})
    assert reserve(two_runs, "r1", "b") is None


def test_what_one_payer_refuses_nobody_reserves(two_runs: State):
    two_runs.budgets.set_shared_caps(BLUE, {"calls": 0})
    assert reserve(two_runs, "r1") == Refusal(BLUE, "calls")
    assert two_runs.budgets.spend("r1").reserved == Amount()
    assert shared(two_runs, ALICE).spend.reserved == Amount()
    assert reserve(two_runs, "r2") is None, "the other run has no team"


def test_a_final_refusal_goes_before_one_that_may_pass(two_runs: State):
    two_runs.budgets.set_caps("r1", Caps(tokens=150))
    reserve(two_runs, "r1", "a")
    assert reserve(two_runs, "r1", "b") == Refusal(Scope("run", "r1"), "tokens", final=False)
    two_runs.budgets.set_shared_caps(BLUE, {"tokens": 50})
    assert reserve(two_runs, "r1", "b") == Refusal(BLUE, "tokens")


def test_caps_change_one_by_one_and_none_removes(state: State):
    state.budgets.set_shared_caps(ALICE, {"calls": 5, "usd": 2_000_000})
    state.budgets.set_shared_caps(ALICE, {"calls": None, "tokens": 7})
    assert shared(state, ALICE).caps == Caps(calls=None, tokens=7, micro_usd=2_000_000)


def test_reservations_lapse_with_every_payer_when_it_is_next_looked_at(adapter: Adapter):
    state = adapter.state
    state.budgets.join("r1", owner="alice", team="blue")
    reserve(state, "r1")
    adapter.advance(adapter.timing.reservation_s + 1)
    for scope in (ALICE, BLUE):
        spend = shared(state, scope).spend
        assert (spend.reserved, spend.unconfirmed) == (Amount(), ESTIMATE)
        assert spend.calls["target"] == 1
    assert state.budgets.spend("r1").unconfirmed == ESTIMATE
    settle(state, "r1")  # its worker was alive after all
    for spend in (shared(state, ALICE).spend, shared(state, BLUE).spend, state.budgets.spend("r1")):
        assert (spend.unconfirmed, spend.calls["target"], spend.input_tokens) == (Amount(), 1, 70)


def test_a_lapsed_call_counts_against_a_shared_cap(adapter: Adapter):
    state = adapter.state
    for run in ("r1", "r2"):
        state.budgets.join(run, owner="alice")
    state.budgets.set_shared_caps(ALICE, {"tokens": 150})
    reserve(state, "r1")
    assert reserve(state, "r2") == Refusal(ALICE, "tokens", final=False)
    adapter.advance(adapter.timing.reservation_s + 1)
    assert reserve(state, "r2") == Refusal(ALICE, "tokens")


def test_a_renewed_reservation_lapses_with_nobody(adapter: Adapter):
    state = adapter.state
    state.budgets.join("r1", owner="alice")
    reserve(state, "r1")
    for _ in range(3):
        adapter.advance(adapter.timing.reservation_s - 10)
        state.budgets.renew("r1", ["a", "ghost"])
    assert shared(state, ALICE).spend.reserved == ESTIMATE


def test_a_call_of_unknown_end_and_a_write_off_count_with_everybody(two_runs: State):
    reserve(two_runs, "r1", "a")
    reserve(two_runs, "r1", "b")
    two_runs.budgets.settle_unknown("r1", "a")
    assert shared(two_runs, ALICE).spend.unconfirmed == ESTIMATE
    assert shared(two_runs, ALICE).spend.reserved == ESTIMATE
    two_runs.budgets.write_off("r1")
    for scope in (ALICE, BLUE):
        spend = shared(two_runs, scope).spend
        assert spend.unconfirmed == Amount(calls=2, tokens=200, micro_usd=100)
        assert spend.reserved == Amount()


def test_writing_one_run_off_leaves_the_others_calls_in_flight(two_runs: State):
    reserve(two_runs, "r1")
    reserve(two_runs, "r2")
    two_runs.budgets.write_off("r1")
    spend = shared(two_runs, ALICE).spend
    assert (spend.reserved, spend.unconfirmed) == (ESTIMATE, ESTIMATE)


def test_a_run_may_change_hands_while_its_calls_are_in_flight(two_runs: State):
    bob = Scope("owner", "bob")
    reserve(two_runs, "r1", "a")
    two_runs.budgets.join("r1", owner="bob")
    reserve(two_runs, "r1", "b")
    settle(two_runs, "r1", "a")
    settle(two_runs, "r1", "b")
    assert shared(two_runs, ALICE).spend.calls["target"] == 1
    assert shared(two_runs, bob).spend.calls["target"] == 1
    assert shared(two_runs, ALICE).spend.reserved == Amount()
    two_runs.budgets.join("r1")
    reserve(two_runs, "r1", "c")
    assert shared(two_runs, bob).spend.reserved == Amount()


def test_two_runs_at_once_are_granted_what_their_owner_may_call(two_runs: State):
    two_runs.budgets.set_shared_caps(ALICE, {"calls": 50})
    with ThreadPoolExecutor(max_workers=40) as pool:
        answers = list(pool.map(lambda n: reserve(two_runs, f"r{n % 2 + 1}", f"c{n}"), range(200)))
    assert answers.count(None) == 50
    assert answers.count(Refusal(ALICE, "calls")) == 150
    assert shared(two_runs, ALICE).spend.reserved.calls == 50

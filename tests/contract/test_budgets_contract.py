from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from jobs import claim, commit, start, take_lead, want
from state_adapters import Adapter

from skillopt.domain.usage import Role
from skillopt.state.ports import Amount, Caps, Spend, State

ESTIMATE = Amount(calls=1, tokens=100, micro_usd=50)


def _reserve(
    state: State, name: str, estimate: Amount = ESTIMATE, *, role: Role = "target"
) -> str | None:
    return state.budgets.reserve("r1", name, job="j", role=role, estimate=estimate)


def _settle(state: State, name: str, *, run: str = "r1") -> None:
    state.budgets.settle(run, name, input_tokens=70, output_tokens=20, micro_usd=45)


class TestBudgets:
    def test_a_fresh_run_has_spent_nothing(self, state: State):
        assert state.budgets.spend("r1") == Spend(calls={"target": 0, "optimizer": 0, "judge": 0})

    def test_a_reservation_becomes_what_the_call_took(self, state: State):
        assert _reserve(state, "a") is None
        assert state.budgets.spend("r1").reserved == ESTIMATE
        _settle(state, "a")
        assert state.budgets.spend("r1") == Spend(
            calls={"target": 1, "optimizer": 0, "judge": 0},
            input_tokens=70,
            output_tokens=20,
            micro_usd=45,
        )

    def test_calls_are_counted_by_role(self, state: State):
        for name, role in (("a", "target"), ("b", "judge"), ("c", "optimizer"), ("d", "judge")):
            _reserve(state, name, role=role)
            _settle(state, name)
        assert state.budgets.spend("r1").calls == {"target": 1, "optimizer": 1, "judge": 2}

    def test_repeating_a_reservation_or_a_settlement_counts_once(self, state: State):
        assert _reserve(state, "a") is None
        assert _reserve(state, "a") is None
        assert state.budgets.spend("r1").reserved == ESTIMATE
        _settle(state, "a")
        settled = state.budgets.spend("r1")
        _settle(state, "a")
        assert _reserve(state, "a") is None
        assert state.budgets.spend("r1") == settled

    def test_settling_what_was_never_granted_counts_nothing(self, state: State):
        before = state.budgets.spend("r1")
        _settle(state, "ghost")
        assert state.budgets.spend("r1") == before

    def test_an_estimate_without_calls_is_still_one_call(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=1))
        assert _reserve(state, "a", Amount(tokens=5)) is None
        assert _reserve(state, "b", Amount(tokens=5)) == "calls"

    @pytest.mark.parametrize(
        ("caps", "refused_by"),
        [
            (Caps(calls=2), "calls"),
            (Caps(tokens=299), "tokens"),
            (Caps(micro_usd=149), "usd"),
            (Caps(calls=3, tokens=300, micro_usd=150), None),
            (Caps(), None),
            (Caps(calls=0), "calls"),
        ],
    )
    def test_a_cap_refuses_what_would_exceed_it(
        self, state: State, caps: Caps, refused_by: str | None
    ):
        state.budgets.set_caps("r1", caps)
        answers = [_reserve(state, name) for name in ("a", "b", "c")]
        assert answers[-1] == refused_by
        assert state.budgets.spend("r1").refused == (refused_by or "")

    def test_raising_the_caps_lets_calls_through_again(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=1))
        _reserve(state, "a")
        assert _reserve(state, "b") == "calls"
        state.budgets.set_caps("r1", Caps(calls=2))
        assert state.budgets.spend("r1").refused == ""
        assert _reserve(state, "b") is None

    def test_settled_amounts_count_against_the_caps(self, state: State):
        state.budgets.set_caps("r1", Caps(tokens=190))
        _reserve(state, "a")
        assert _reserve(state, "b") == "tokens"
        _settle(state, "a")
        assert _reserve(state, "b") is None

    def test_a_lapsed_reservation_is_spent_at_its_estimate(self, adapter: Adapter):
        state = adapter.state
        state.budgets.set_caps("r1", Caps(calls=2, tokens=210))
        _reserve(state, "a")
        adapter.advance(adapter.timing.reservation_s + 1)
        spend = state.budgets.spend("r1")
        assert (spend.reserved, spend.unconfirmed) == (Amount(), ESTIMATE)
        assert spend.calls["target"] == 1
        assert _reserve(state, "b") is None
        assert _reserve(state, "c") == "calls"

    def test_a_lapsed_reservation_settled_late_is_confirmed(self, adapter: Adapter):
        state = adapter.state
        _reserve(state, "a")
        adapter.advance(adapter.timing.reservation_s + 1)
        assert state.budgets.spend("r1").unconfirmed == ESTIMATE
        assert _reserve(state, "a") is None
        _settle(state, "a")
        spend = state.budgets.spend("r1")
        assert (spend.unconfirmed, spend.reserved) == (Amount(), Amount())
        assert (spend.calls["target"], spend.input_tokens, spend.micro_usd) == (1, 70, 45)

    def test_writing_off_settles_what_is_open_without_waiting(self, state: State):
        assert _reserve(state, "a") is None
        assert _reserve(state, "b") is None
        _settle(state, "a")
        state.budgets.write_off("r1")
        spend = state.budgets.spend("r1")
        assert (spend.reserved, spend.unconfirmed) == (Amount(), ESTIMATE)
        assert spend.calls["target"] == 2
        _settle(state, "b")  # its worker was alive after all
        assert state.budgets.spend("r1").unconfirmed == Amount()
        assert state.budgets.spend("r1").calls["target"] == 2

    def test_a_renewed_reservation_does_not_lapse(self, adapter: Adapter):
        state = adapter.state
        _reserve(state, "a")
        for _ in range(3):
            adapter.advance(adapter.timing.reservation_s - 10)
            state.budgets.renew("r1", ["a", "ghost"])
        assert state.budgets.spend("r1").reserved == ESTIMATE

    def test_what_lapsed_before_another_reservation_stays_lapsed(self, adapter: Adapter):
        state = adapter.state
        _reserve(state, "a")
        adapter.advance(adapter.timing.reservation_s + 1)
        _reserve(state, "b")
        state.budgets.renew("r1", ["a", "b"])
        spend = state.budgets.spend("r1")
        assert (spend.reserved, spend.unconfirmed) == (ESTIMATE, ESTIMATE)

    def test_runs_pay_separately(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=0))
        assert _reserve(state, "a") == "calls"
        granted = state.budgets.reserve("r2", "a", job="j", role="target", estimate=ESTIMATE)
        assert granted is None
        _settle(state, "a", run="r2")
        assert state.budgets.spend("r1").calls["target"] == 0

    def test_two_hundred_reservations_at_once_grant_what_the_cap_allows(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=50))
        with ThreadPoolExecutor(max_workers=40) as pool:
            answers = list(pool.map(lambda number: _reserve(state, f"c{number}"), range(200)))
        assert answers.count(None) == 50
        assert answers.count("calls") == 150
        assert state.budgets.spend("r1").reserved.calls == 50

    def test_a_call_of_a_worker_that_came_too_late_is_not_repaid_by_a_later_run(self, state: State):
        lead = take_lead(state)
        start(state, lead)
        commit(state)
        assert _reserve(state, "a") is None
        state.results.forget(lead, ["j"])
        want(state, lead)
        assert claim(state, owner="w2").repaid_calls == 0

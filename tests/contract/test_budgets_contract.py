from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from jobs import claim, commit, start, take_lead, want
from state_adapters import Adapter

from skillopt.domain.usage import Role
from skillopt.state.ports import Amount, Cap, Caps, Refusal, Scope, Spend, State

ESTIMATE = Amount(calls=1, tokens=100, micro_usd=50)


def _reserve(
    state: State, name: str, estimate: Amount = ESTIMATE, *, role: Role = "target"
) -> Refusal | None:
    return state.budgets.reserve("r1", name, job="j", role=role, estimate=estimate)


def _by_run(cap: Cap, *, final: bool = True) -> Refusal:
    return Refusal(Scope("run", "r1"), cap, final)


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
            micro_usd_by_role={"target": 45},
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
        assert _reserve(state, "b", Amount(tokens=5)) == _by_run("calls")

    @pytest.mark.parametrize(
        ("caps", "refused_by"),
        [
            (Caps(calls=2), "calls"),
            (Caps(tokens=279), "tokens"),
            (Caps(micro_usd=139), "usd"),
            (Caps(calls=3, tokens=280, micro_usd=140), None),
            (Caps(), None),
            (Caps(calls=0), "calls"),
        ],
    )
    def test_a_cap_refuses_what_would_exceed_it(
        self, state: State, caps: Caps, refused_by: Cap | None
    ):
        state.budgets.set_caps("r1", caps)
        for name in ("a", "b"):
            _reserve(state, name)
            _settle(state, name)
        refusal = _by_run(refused_by) if refused_by else None
        assert _reserve(state, "c") == refusal
        assert state.budgets.spend("r1").refused == refusal

    @pytest.mark.parametrize(
        ("caps", "cap"), [(Caps(tokens=199), "tokens"), (Caps(micro_usd=99), "usd")]
    )
    def test_what_would_fit_but_for_the_calls_in_flight_is_held_not_refused(
        self, state: State, caps: Caps, cap: Cap
    ):
        state.budgets.set_caps("r1", caps)
        assert _reserve(state, "a") is None
        assert _reserve(state, "b") == _by_run(cap, final=False)
        assert state.budgets.spend("r1").refused is None, "the run does not stop for it"
        assert state.budgets.spend("r1").reserved == ESTIMATE
        _settle(state, "a")
        assert _reserve(state, "b") is None
        _settle(state, "b")
        assert _reserve(state, "c") == _by_run(cap), "what is spent leaves no room for it"

    def test_a_reserved_call_gives_no_room_back(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=1))
        _reserve(state, "a")
        assert _reserve(state, "b") == _by_run("calls")

    def test_raising_the_caps_lets_calls_through_again(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=1))
        _reserve(state, "a")
        assert _reserve(state, "b") == _by_run("calls")
        state.budgets.set_caps("r1", Caps(calls=2))
        assert state.budgets.spend("r1").refused is None
        assert _reserve(state, "b") is None

    def test_settled_amounts_count_against_the_caps(self, state: State):
        state.budgets.set_caps("r1", Caps(tokens=190))
        _reserve(state, "a")
        assert _reserve(state, "b") == _by_run("tokens", final=False)
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
        assert _reserve(state, "c") == _by_run("calls")

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

    def test_a_call_that_nobody_heard_of_again_is_counted_at_its_estimate(self, state: State):
        _reserve(state, "a")
        state.budgets.settle_unknown("r1", "a")
        spend = state.budgets.spend("r1")
        assert (spend.reserved, spend.unconfirmed) == (Amount(), ESTIMATE)
        assert spend.calls["target"] == 1
        state.budgets.settle_unknown("r1", "a")
        _settle(state, "a")
        assert _reserve(state, "a") is None
        assert state.budgets.spend("r1") == spend, "it is settled once"

    def test_a_lapsed_call_that_turns_out_to_be_unknown_stays_as_it_was_counted(
        self, adapter: Adapter
    ):
        state = adapter.state
        _reserve(state, "a")
        adapter.advance(adapter.timing.reservation_s + 1)
        before = state.budgets.spend("r1")
        state.budgets.settle_unknown("r1", "a")
        assert state.budgets.spend("r1") == before
        assert before.unconfirmed == ESTIMATE

    def test_tokens_that_we_counted_ourselves_are_told_apart(self, state: State):
        _reserve(state, "a")
        _reserve(state, "b")
        _settle(state, "a")
        state.budgets.settle(
            "r1", "b", input_tokens=5, output_tokens=6, micro_usd=7, estimated=True
        )
        spend = state.budgets.spend("r1")
        assert (spend.input_tokens, spend.output_tokens, spend.estimated_tokens) == (75, 26, 11)

    def test_a_free_call_is_reserved_settled_and_lapsed_like_any_other(self, adapter: Adapter):
        state, free = adapter.state, Amount(calls=1)
        for name in ("a", "b", "c"):
            _reserve(state, name, free)
        state.budgets.settle("r1", "a", input_tokens=0, output_tokens=0, micro_usd=0)
        state.budgets.settle_unknown("r1", "b")
        adapter.advance(adapter.timing.reservation_s + 1)
        spend = state.budgets.spend("r1")
        assert (spend.reserved, spend.unconfirmed) == (Amount(), Amount(calls=2))
        assert spend.calls["target"] == 3

    def test_calls_without_a_price_are_told_apart(self, state: State):
        _reserve(state, "a")
        state.budgets.reserve(
            "r1", "b", job="j", role="target", estimate=Amount(calls=1, tokens=5), priced=False
        )
        assert state.budgets.spend("r1").unpriced_calls == 1

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
        assert _reserve(state, "a") == _by_run("calls")
        granted = state.budgets.reserve("r2", "a", job="j", role="target", estimate=ESTIMATE)
        assert granted is None
        _settle(state, "a", run="r2")
        assert state.budgets.spend("r1").calls["target"] == 0

    def test_two_hundred_reservations_at_once_grant_what_the_cap_allows(self, state: State):
        state.budgets.set_caps("r1", Caps(calls=50))
        with ThreadPoolExecutor(max_workers=40) as pool:
            answers = list(pool.map(lambda number: _reserve(state, f"c{number}"), range(200)))
        assert answers.count(None) == 50
        assert answers.count(_by_run("calls")) == 150
        assert state.budgets.spend("r1").reserved.calls == 50

    def test_a_call_of_a_worker_that_came_too_late_is_not_repaid_by_a_later_run(self, state: State):
        lead = take_lead(state)
        start(state, lead)
        commit(state)
        assert _reserve(state, "a") is None
        state.results.forget(lead, ["j"])
        want(state, lead)
        assert claim(state, owner="w2").repaid_calls == 0

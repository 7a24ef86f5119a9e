from __future__ import annotations

import pytest
from jobs import claim, commit, finished, start, take_lead, want
from state_adapters import Adapter

from skillopt.state.ports import (
    MAX_JOBS_PER_CALL,
    Amount,
    ClaimStatus,
    RenewStatus,
    State,
    WantStatus,
)


class TestJobClaims:
    def test_a_claim_gives_the_spec_and_counts_the_execution(self, state: State):
        want(state, take_lead(state), "j")
        claimed = claim(state, "j")
        assert (claimed.status, claimed.spec, claimed.repaid_calls) == (ClaimStatus.RUN, b"j", 0)
        assert state.budgets.spend("r1").executions == 1

    def test_a_repeated_claim_of_one_owner_is_the_same_claim(self, state: State):
        lead = take_lead(state)
        start(state, lead)
        assert claim(state).status is ClaimStatus.RUN
        assert state.budgets.spend("r1").executions == 1

    def test_a_claim_tells_its_number_and_how_long_its_message_waited(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        want(adapter.state, lead)
        adapter.advance(2)
        first = claim(adapter.state)
        assert first.attempt == 1
        assert first.waited_s is not None
        assert 1.9 <= first.waited_s < 60
        again = claim(adapter.state)
        assert (again.attempt, again.waited_s) == (1, None)
        adapter.advance(adapter.timing.lease_s + 1)
        want(adapter.state, lead)
        assert claim(adapter.state, owner="w2").attempt == 2

    def test_nobody_described_the_job(self, state: State):
        assert claim(state).status is ClaimStatus.UNKNOWN

    def test_nobody_waits_for_the_job(self, state: State):
        lead = take_lead(state)
        want(state, lead)
        state.board.unwant(lead, ["j"])
        assert claim(state).status is ClaimStatus.UNWANTED

    def test_who_waits_no_more_pays_for_nobody_and_the_others_send_anew(self, state: State):
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        want(state, first)
        assert want(state, second).status is WantStatus.QUEUED
        cursor = state.doorbell.wait("r2", "", timeout_s=0)
        state.board.unwant(first, ["j"])
        assert claim(state, run="r1").status is ClaimStatus.UNWANTED
        assert state.doorbell.wait("r2", cursor, timeout_s=5) != cursor
        assert want(state, second).status is WantStatus.SEND
        assert claim(state, run="r2").status is ClaimStatus.RUN
        executions = [state.budgets.spend(run).executions for run in ("r1", "r2")]
        assert executions == [0, 1]

    def test_calls_of_a_lost_claim_are_repaid_by_the_next(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        start(state, lead)
        for number in range(3):
            state.budgets.reserve(
                "r1", f"c{number}", job="j", role="target", estimate=Amount(calls=1)
            )
        adapter.advance(adapter.timing.lease_s + 1)
        want(state, lead)
        assert claim(state, owner="w2").repaid_calls == 3
        assert claim(state, owner="w2").repaid_calls == 3
        assert state.budgets.spend("r1").repaid_calls == 3
        adapter.advance(adapter.timing.lease_s + 1)
        want(state, lead)
        assert claim(state, owner="w3", lane="quarantine").repaid_calls == 0
        assert state.budgets.spend("r1").executions == 3

    def test_calls_of_a_job_given_back_are_not_repaid(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        start(state, lead)
        state.budgets.reserve("r1", "c1", job="j", role="target", estimate=Amount(calls=1))
        state.claims.release("j", owner="w1", delay_s=0, reason="server_error: 503")
        start(state, lead, owner="w2")
        assert state.budgets.spend("r1").repaid_calls == 0

    def test_giving_back_costs_the_job_no_claim(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        for number in range(8):
            start(state, lead, owner=f"w{number}")
            assert state.claims.release("j", owner=f"w{number}", delay_s=0, reason="throttled: x")
        assert want(state, lead).lane == "normal"

    @pytest.mark.parametrize(
        "reason",
        [
            "draining: the worker stops",
            "throttled: by 'gpt'",
            "budget: no more calls",
            "budget_held: by calls in flight",
        ],
    )
    def test_giving_back_for_no_fault_of_job_or_backend_is_no_round(
        self, state: State, reason: str
    ):
        lead = take_lead(state)
        for number in range(3):
            start(state, lead, owner=f"w{number}")
            assert state.claims.release("j", owner=f"w{number}", delay_s=0, reason=reason)
        answer = want(state, lead)
        assert (answer.rounds, answer.reason) == (0, reason)

    def test_giving_back_in_quarantine_costs_no_quarantine_claim(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        for owner in ("lost-1", "lost-2"):
            start(state, lead, owner=owner)
            adapter.advance(adapter.timing.lease_s + 1)
        for number in range(5):
            start(state, lead, owner=f"w{number}")
            assert state.claims.release("j", owner=f"w{number}", delay_s=0, reason="throttled: x")
        answer = want(state, lead)
        assert (answer.status, answer.lane) == (WantStatus.SEND, "quarantine")

    def test_giving_back_tells_every_waiter_and_drops_the_one_that_cannot_pay(self, state: State):
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        start(state, first)
        want(state, second)
        cursors = {run: state.doorbell.wait(run, "", timeout_s=0) for run in ("r1", "r2")}
        assert state.claims.release(
            "j", owner="w1", delay_s=0, reason="budget: calls", drop_run="r1"
        )
        for run, cursor in cursors.items():
            assert state.doorbell.wait(run, cursor, timeout_s=5) != cursor
        state.board.unwant(second, ["j"])
        assert claim(state, owner="w2").status is ClaimStatus.UNWANTED

    def test_only_the_holder_gives_back(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        start(state, lead)
        assert not state.claims.release("j", owner="w2", delay_s=0, reason="draining: x")
        adapter.advance(adapter.timing.lease_s + 1)
        assert not state.claims.release("j", owner="w1", delay_s=0, reason="draining: x")
        assert want(state, lead).rounds == 0

    def test_renewing_keeps_a_lease_and_tells_lost_from_unwanted(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        for job in ("a", "b", "c"):
            start(state, lead, job)
        for _ in range(4):
            adapter.advance(adapter.timing.lease_s - 5)
            kept = state.claims.renew({"a": "w1", "b": "w1"})
        assert kept == {"a": RenewStatus.OK, "b": RenewStatus.OK}
        state.board.unwant(lead, ["b"])
        assert state.claims.renew({"a": "w2", "b": "w1", "c": "w1"}) == {
            "a": RenewStatus.LOST, "b": RenewStatus.UNWANTED, "c": RenewStatus.LOST,
        }  # fmt: skip

    def test_many_leases_are_renewed_in_one_call(self, state: State):
        leases = {f"j{number}": "w1" for number in range(MAX_JOBS_PER_CALL + 1)}
        assert set(state.claims.renew(leases).values()) == {RenewStatus.LOST}

    def test_abandoned_work_may_be_wanted_again_and_counts_no_claim(self, state: State):
        lead = take_lead(state)
        for _ in range(4):
            start(state, lead)
            state.board.unwant(lead, ["j"])
            assert state.claims.abandon("j", owner="w1")
        assert want(state, lead).lane == "normal"

    def test_a_waiter_that_comes_before_the_abandon_keeps_the_work_going(self, state: State):
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        start(state, first)
        state.board.unwant(first, ["j"])
        assert state.claims.renew({"j": "w1"}) == {"j": RenewStatus.UNWANTED}
        assert want(state, second).status is WantStatus.LEASED
        assert not state.claims.abandon("j", owner="w1")
        assert state.claims.renew({"j": "w1"}) == {"j": RenewStatus.OK}

    def test_a_waiter_that_comes_after_the_abandon_sends_at_once(self, state: State):
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        start(state, first)
        state.board.unwant(first, ["j"])
        assert not state.claims.abandon("j", owner="w2")
        assert state.claims.abandon("j", owner="w1")
        assert want(state, second).status is WantStatus.SEND

    def test_the_first_writer_of_a_result_wins(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        start(state, lead)
        adapter.advance(adapter.timing.lease_s + 1)
        start(state, lead, owner="w2")
        assert commit(state, text="late", owner="w1")
        assert not commit(state, text="second", owner="w2")
        assert state.results.get(["j"])["j"].body == "body late"
        assert claim(state, owner="w3").status is ClaimStatus.DONE

    def test_repeating_a_commit_is_the_same_commit(self, state: State):
        start(state, take_lead(state))
        assert commit(state)
        assert commit(state)

    def test_a_commit_drops_only_its_own_lease(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        start(state, lead)
        adapter.advance(adapter.timing.lease_s + 1)
        start(state, lead, owner="w2")
        commit(state, owner="w1")
        assert state.claims.renew({"j": "w2"}) == {"j": RenewStatus.UNWANTED}
        commit(state, owner="w2")
        assert state.claims.renew({"j": "w2"}) == {"j": RenewStatus.LOST}

    def test_a_commit_forgets_what_went_wrong_before(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        for owner in ("lost-1", "lost-2"):
            start(state, lead, owner=owner)
            adapter.advance(adapter.timing.lease_s + 1)
        commit(state, owner="lost-1")
        state.results.forget(lead, ["j"])
        answer = want(state, lead)
        assert (answer.status, answer.lane) == (WantStatus.SEND, "normal")

    def test_several_results_in_one_commit_ring_each_run_once(self, state: State):
        lead = take_lead(state)
        start(state, lead, "rollout")
        want(state, lead, "judgement")
        cursor = state.doorbell.wait("r1", "", timeout_s=0)
        won = state.claims.commit([finished("rollout"), finished("judgement")], owner="w1")
        assert won == [True, True]
        after = state.doorbell.wait("r1", cursor, timeout_s=5)
        assert after != cursor
        assert state.doorbell.wait("r1", after, timeout_s=0) == after

"""Jobs that lose their workers: quarantine, death, and another chance."""

from __future__ import annotations

from jobs import claim, commit, lose, start, statuses, take_lead, want, want_all
from state_adapters import Adapter

from skillopt.state.ports import ClaimStatus, State, WantAnswer, WantStatus


class TestPoison:
    def test_retry_clears_deaths_holds_and_lost_claims(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        lose(adapter, lead, 5)
        assert want(adapter.state, lead).status is WantStatus.DEAD
        adapter.state.board.retry(lead, ["j"])
        assert want(adapter.state, lead) == WantAnswer("j", WantStatus.SEND)

        start(adapter.state, lead, "k")
        adapter.state.claims.release("k", owner="w1", delay_s=500, reason="auth: no")
        adapter.state.board.retry(lead, ["k"])
        assert want(adapter.state, lead, "k") == WantAnswer("k", WantStatus.SEND)

    def test_retry_leaves_a_running_worker_alone(self, state: State):
        lead = take_lead(state)
        start(state, lead)
        state.board.retry(lead, ["j"])
        assert want(state, lead).status is WantStatus.LEASED
        assert state.claims.release("j", owner="w1", delay_s=0, reason="draining: stop")

    def test_a_dead_job_with_a_late_result_is_a_hit(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        lose(adapter, lead, 5)
        assert want(adapter.state, lead).status is WantStatus.DEAD
        assert claim(adapter.state).status is ClaimStatus.DEAD
        assert commit(adapter.state, owner="lost-4")
        assert want(adapter.state, lead).status is WantStatus.HIT
        assert claim(adapter.state).status is ClaimStatus.DONE
        adapter.state.results.forget(lead, ["j"])
        assert want(adapter.state, lead) == WantAnswer("j", WantStatus.SEND)

    def test_a_quarantined_message_of_the_old_lane_is_replaced_at_once(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        lose(adapter, lead, 1)
        assert want(adapter.state, lead).lane == "normal"
        assert claim(adapter.state, owner="duplicate").status is ClaimStatus.RUN
        adapter.advance(adapter.timing.lease_s + 1)
        assert claim(adapter.state, owner="w3").status is ClaimStatus.QUARANTINED
        answer = want(adapter.state, lead)
        assert (answer.status, answer.lane) == (WantStatus.SEND, "quarantine")
        assert claim(adapter.state, owner="w4").status is ClaimStatus.QUARANTINED
        assert want(adapter.state, lead).status is WantStatus.QUEUED

    def test_a_quarantined_message_rings_so_that_it_is_replaced_soon(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        lose(adapter, lead, 2)
        cursor = adapter.state.doorbell.wait("r1", "", timeout_s=0)
        assert claim(adapter.state, owner="duplicate").status is ClaimStatus.QUARANTINED
        assert adapter.state.doorbell.wait("r1", cursor, timeout_s=5) != cursor

    def test_a_death_found_by_one_run_is_told_to_the_others(self, adapter: Adapter):
        state = adapter.state
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        lose(adapter, first, 4)
        start(state, first, owner="lost")
        want(state, second)
        adapter.advance(adapter.timing.lease_s + 1)
        cursor = state.doorbell.wait("r2", "", timeout_s=0)
        assert want(state, first).status is WantStatus.DEAD
        assert state.doorbell.wait("r2", cursor, timeout_s=5) != cursor
        assert want(state, second).reason == want(state, first).reason != ""

    def test_a_death_may_be_found_by_a_worker(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        lose(adapter, lead, 5)
        cursor = state.doorbell.wait("r1", "", timeout_s=0)
        assert claim(state, owner="w9", lane="quarantine").status is ClaimStatus.DEAD
        assert state.doorbell.wait("r1", cursor, timeout_s=5) != cursor
        assert want(state, lead).status is WantStatus.DEAD

    def test_a_dead_job_takes_no_room(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        lose(adapter, lead, 5)
        for _ in ("found dead now", "known to be dead"):
            answers = want_all(adapter.state, lead, ["j", "k"], room=1)
            assert answers[0].status is WantStatus.DEAD
            assert answers[1].status in (WantStatus.SEND, WantStatus.QUEUED)
        assert statuses(want_all(adapter.state, lead, ["j"], room=0)) == [WantStatus.DEAD]

from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State, TroubledJob, Want


class TestCoordinators:
    def test_live_coordinators_are_named_in_order(self, state: State):
        assert state.fleet.coordinators() == []
        for name in ("host:2", "host:1", "host:2"):
            state.fleet.announce_coordinator(name)
        assert state.fleet.coordinators() == ["host:1", "host:2"]

    def test_a_retired_coordinator_is_gone(self, state: State):
        state.fleet.announce_coordinator("host:1")
        state.fleet.announce_coordinator("host:2")
        state.fleet.retire_coordinator("host:1")
        assert state.fleet.coordinators() == ["host:2"]

    def test_a_silent_coordinator_fades(self, adapter: Adapter):
        fleet, ttl_s = adapter.state.fleet, adapter.timing.worker_ttl_s
        fleet.announce_coordinator("host:1")
        adapter.advance(ttl_s - 5)
        fleet.announce_coordinator("host:2")
        adapter.advance(10)
        assert fleet.coordinators() == ["host:2"]


class TestLeaders:
    def test_only_runs_that_somebody_leads_have_a_leader(self, adapter: Adapter):
        runs = adapter.state.runs
        assert runs.leaders([]) == {}
        lead = runs.lead("r1", "c1")
        runs.lead("r2", "c2")
        assert lead is not None
        assert runs.leaders(["r1", "r2", "r3"]) == {"r1": "c1", "r2": "c2"}
        runs.resign(lead)
        assert runs.leaders(["r1", "r2"]) == {"r2": "c2"}
        adapter.advance(adapter.timing.lead_s + 1)
        assert runs.leaders(["r1", "r2"]) == {}

    def test_looking_takes_no_lead(self, state: State):
        state.runs.leaders(["r1"])
        assert state.runs.lead("r1", "c1") is not None


class TestWaitingMessages:
    def test_a_message_that_nobody_claimed_has_its_time(self, state: State):
        before = state.server.now()
        lead = state.runs.lead("r1", "c1")
        assert lead is not None
        state.board.want(lead, [Want("a" * 64, b"spec")], room=1)
        sent = _job(state).sent_at
        assert sent is not None
        assert before - 1 <= sent <= state.server.now()
        state.claims.claim("a" * 64, run="r1", owner="w1", lane="normal")
        assert _job(state).sent_at is None


def _job(state: State) -> TroubledJob:
    return state.dead.look(["a" * 64])["a" * 64]

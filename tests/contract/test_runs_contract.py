from __future__ import annotations

import pytest
from jobs import take_lead
from state_adapters import Adapter

from skillopt.errors import Fenced, StaleVersion
from skillopt.state.ports import Lead, State


def _step(state: State, lead: Lead, version: int, *events: str, open: bool = True) -> int:
    return state.runs.step(lead, version=version, events=events, status="running", open=open)


class TestRuns:
    def test_a_run_is_created_once(self, state: State):
        created = state.runs.create("r", meta={"name": "Zoë"}, events=["e1", "e2"], status="new")
        again = state.runs.create("r", meta={"name": "x"}, events=["e9"], status="other")
        assert (created, again) == (True, False)
        info = state.runs.info("r")
        assert info is not None
        assert (info.meta, info.status, info.version) == ({"name": "Zoë"}, "new", 2)
        assert [(entry.seq, entry.event) for entry in state.runs.log("r")] == [(1, "e1"), (2, "e2")]

    def test_an_unknown_run_has_nothing(self, state: State):
        assert state.runs.info("r") is None
        assert state.runs.log("r") == []
        assert state.runs.ledger("r") == {}
        assert state.runs.view("r") is None
        assert state.runs.all() == []
        assert state.runs.open_runs() == []

    def test_runs_are_listed_newest_first_and_open_ones_oldest_first(self, state: State):
        for run in ("b", "a", "c"):
            state.runs.create(run, meta={}, events=[], status="new")
        assert [info.run for info in state.runs.all()] == ["c", "a", "b"]
        assert state.runs.open_runs() == ["b", "a", "c"]

    def test_a_step_appends_and_rings(self, state: State):
        lead = take_lead(state)
        cursor = state.doorbell.wait("r1", "", timeout_s=0)
        assert _step(state, lead, 0, "a", "b") == 2
        assert _step(state, lead, 2, "c") == 3
        assert state.doorbell.wait("r1", cursor, timeout_s=5) != cursor
        log = state.runs.log("r1")
        assert [(entry.seq, entry.event) for entry in log] == [(1, "a"), (2, "b"), (3, "c")]
        assert log[0].at <= log[-1].at
        assert [entry.seq for entry in state.runs.log("r1", after=2)] == [3]
        info = state.runs.info("r1")
        assert info is not None
        assert (info.status, info.version) == ("running", 3)
        assert info.created_at <= log[0].at + 0.001

    def test_a_long_log_is_read_whole(self, state: State):
        lead = take_lead(state)
        _step(state, lead, 0, *(str(number) for number in range(2500)))
        assert [entry.event for entry in state.runs.log("r1")] == [str(n) for n in range(2500)]

    def test_a_step_from_an_old_version_is_refused(self, state: State):
        lead = take_lead(state)
        _step(state, lead, 0, "a")
        for version in (0, 2):
            with pytest.raises(StaleVersion, match="version 1"):
                _step(state, lead, version, "b")
        assert [entry.event for entry in state.runs.log("r1")] == ["a"]

    def test_a_step_of_a_run_that_does_not_exist_is_refused(self, state: State):
        lead = state.runs.lead("ghost", "c1")
        assert lead is not None
        with pytest.raises(StaleVersion):
            _step(state, lead, 0, "a")

    def test_a_closed_run_needs_no_coordinator_until_it_is_opened_again(self, state: State):
        first = take_lead(state, "r1")
        take_lead(state, "r2")
        _step(state, first, 0, "a", open=False)
        assert state.runs.open_runs() == ["r2"]
        _step(state, first, 1, "b", open=True)
        assert state.runs.open_runs() == ["r1", "r2"]

    def test_one_coordinator_leads_at_a_time(self, adapter: Adapter):
        runs = adapter.state.runs
        first = runs.lead("r1", "c1")
        assert first is not None
        assert runs.lead("r1", "c2") is None
        for _ in range(3):
            adapter.advance(adapter.timing.lead_s - 5)
            assert runs.lead("r1", "c1") == first
        adapter.advance(adapter.timing.lead_s + 1)
        second = runs.lead("r1", "c2")
        assert second is not None
        assert second.fence > first.fence
        assert runs.lead("r1", "c1") is None

    def test_a_lead_that_lapsed_unnoticed_is_still_good(self, adapter: Adapter):
        state = adapter.state
        lead = take_lead(state)
        adapter.advance(adapter.timing.lead_s + 1)
        assert _step(state, lead, 0, "a") == 1
        assert state.runs.lead("r1", "c1") == lead

    def test_a_zombie_leader_cannot_step_after_a_takeover(self, adapter: Adapter):
        state = adapter.state
        zombie = take_lead(state, owner="c1")
        adapter.advance(adapter.timing.lead_s + 1)
        lead = take_lead(state, owner="c2")
        impostor = Lead("r1", "c1", lead.fence)
        earlier = Lead("r1", "c2", zombie.fence)
        for stranger in (zombie, impostor, earlier):
            with pytest.raises(Fenced, match="'r1'"):
                _step(state, stranger, 0, "zombie")
        state.runs.resign(zombie)
        assert _step(state, lead, 0, "a") == 1
        assert [entry.event for entry in state.runs.log("r1")] == ["a"]

    def test_a_resigned_lead_is_over_at_once(self, state: State):
        lead = take_lead(state, owner="c1")
        state.runs.resign(lead)
        with pytest.raises(Fenced):
            _step(state, lead, 0, "a")
        second = take_lead(state, owner="c2")
        assert second.fence > lead.fence
        state.runs.resign(second)
        third = take_lead(state, owner="c1")
        assert third.fence > second.fence

    def test_taking_the_lead_rings_nothing(self, state: State):
        cursor = state.doorbell.wait("r1", "", timeout_s=0)
        take_lead(state)
        assert state.doorbell.wait("r1", cursor, timeout_s=0) == cursor

    def test_a_view_fades(self, adapter: Adapter):
        runs = adapter.state.runs
        runs.show_view("r1", '{"stage": "gate"}')
        assert runs.view("r1") == '{"stage": "gate"}'
        adapter.advance(adapter.timing.view_ttl_s + 1)
        assert runs.view("r1") is None

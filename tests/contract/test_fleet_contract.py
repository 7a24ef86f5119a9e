from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State, WorkerInfo

FIRST = WorkerInfo("gpt-1@host", "gpt", "f" * 64, capacity=16)
SECOND = WorkerInfo("a:1", "sim", "0" * 64, capacity=1, lane="quarantine", version="0.1.0")


class TestFleet:
    def test_announced_workers_are_listed_in_order(self, state: State):
        assert state.fleet.workers() == []
        state.fleet.announce(SECOND)
        state.fleet.announce(FIRST)
        state.fleet.announce(FIRST)
        assert state.fleet.workers() == [FIRST, SECOND]

    def test_a_retired_worker_is_gone(self, state: State):
        state.fleet.announce(FIRST)
        state.fleet.announce(SECOND)
        state.fleet.retire(FIRST)
        assert state.fleet.workers() == [SECOND]

    def test_a_silent_worker_fades(self, adapter: Adapter):
        fleet, ttl_s = adapter.state.fleet, adapter.timing.worker_ttl_s
        fleet.announce(FIRST)
        adapter.advance(ttl_s - 5)
        fleet.announce(SECOND)
        adapter.advance(10)
        assert fleet.workers() == [SECOND]
        adapter.advance(ttl_s)
        assert fleet.workers() == []

from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State


class TestHolds:
    def test_a_credential_is_free_until_it_is_held(self, adapter: Adapter):
        holds = adapter.state.holds
        assert holds.remaining_s("key") == 0
        holds.hold("key", for_s=10)
        assert 9 < holds.remaining_s("key") <= 10
        assert holds.remaining_s("other") == 0
        adapter.advance(11)
        assert holds.remaining_s("key") == 0

    def test_a_longer_hold_stays_and_a_shorter_one_is_extended(self, state: State):
        state.holds.hold("key", for_s=100)
        state.holds.hold("key", for_s=10)
        assert state.holds.remaining_s("key") > 90
        state.holds.hold("key", for_s=200)
        assert state.holds.remaining_s("key") > 190

    def test_holding_for_no_time_holds_nothing(self, state: State):
        state.holds.hold("key", for_s=0)
        state.holds.hold("key", for_s=-1)
        assert state.holds.remaining_s("key") == 0

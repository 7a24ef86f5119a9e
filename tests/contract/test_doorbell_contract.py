from __future__ import annotations

import threading

from skillopt.state.ports import State


class TestDoorbell:
    def test_nothing_rang(self, state: State):
        cursor = state.doorbell.wait("r", "", timeout_s=0)
        assert cursor
        assert state.doorbell.wait("r", cursor, timeout_s=0.02) == cursor

    def test_a_ring_between_two_waits_is_not_missed(self, state: State):
        cursor = state.doorbell.wait("r", "", timeout_s=0)
        state.doorbell.ring("r")
        state.doorbell.ring("r")
        after = state.doorbell.wait("r", cursor, timeout_s=5)
        assert after != cursor
        assert state.doorbell.wait("r", after, timeout_s=0) == after

    def test_an_empty_cursor_means_from_now_on(self, state: State):
        state.doorbell.ring("r")
        cursor = state.doorbell.wait("r", "", timeout_s=0.02)
        assert state.doorbell.wait("r", cursor, timeout_s=0) == cursor
        state.doorbell.ring("r")
        assert state.doorbell.wait("r", cursor, timeout_s=0) != cursor

    def test_runs_have_their_own_bells(self, state: State):
        cursor = state.doorbell.wait("r", "", timeout_s=0)
        state.doorbell.ring("other")
        assert state.doorbell.wait("r", cursor, timeout_s=0) == cursor

    def test_a_ring_wakes_a_waiting_coordinator(self, state: State):
        cursor = state.doorbell.wait("r", "", timeout_s=0)
        woken: list[str] = []
        waiter = threading.Thread(
            target=lambda: woken.append(state.doorbell.wait("r", cursor, timeout_s=60))
        )
        waiter.start()
        state.doorbell.ring("r")
        waiter.join(timeout=30)
        assert not waiter.is_alive()
        assert woken != [cursor]

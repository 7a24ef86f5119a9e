from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State, WatchedRun


class TestNotices:
    def test_a_run_is_watched_from_where_it_was_said(self, state: State):
        assert state.notices.runs() == []
        assert state.notices.get("r1") is None
        state.notices.watch("r2", "whom", cursor=3)
        state.notices.watch("r1", "whom")
        assert state.notices.runs() == ["r1", "r2"]
        assert state.notices.get("r2") == WatchedRun("whom", 3)

    def test_watching_again_changes_only_whom(self, state: State):
        state.notices.watch("r1", "whom")
        state.notices.advance("r1", 5)
        state.notices.mark("r1", "max_usd=5")
        state.notices.watch("r1", "another", cursor=1)
        assert state.notices.get("r1") == WatchedRun("another", 5, frozenset({"max_usd=5"}))

    def test_the_cursor_never_goes_back(self, state: State):
        state.notices.watch("r1", "whom")
        state.notices.advance("r1", 12)
        state.notices.advance("r1", 7)
        known = state.notices.get("r1")
        assert known is not None
        assert known.cursor == 12

    def test_an_unwatched_run_is_forgotten_and_stays_so(self, state: State):
        state.notices.watch("r1", "whom")
        state.notices.unwatch("r1")
        state.notices.advance("r1", 5)
        state.notices.mark("r1", "x")
        assert state.notices.get("r1") is None
        assert state.notices.runs() == []

    def test_one_at_a_time_tells(self, adapter: Adapter):
        notices = adapter.state.notices
        assert notices.take("r1", "a")
        assert notices.take("r1", "a"), "it may go on"
        assert not notices.take("r1", "b")
        assert notices.take("r2", "b")
        adapter.advance(adapter.timing.lead_s + 1)
        assert notices.take("r1", "b")

    def test_a_removed_run_takes_its_notices_along(self, state: State):
        state.runs.create("r1", meta={}, events=["{}"], status="finished")
        state.notices.watch("r1", "whom")
        assert state.archive.remove("r1") is not None
        assert state.notices.get("r1") is None

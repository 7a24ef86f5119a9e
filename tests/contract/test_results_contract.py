from __future__ import annotations

from jobs import commit, finished, start, take_lead, want
from state_adapters import Adapter

from skillopt.state.ports import MAX_JOBS_PER_CALL, State, StoredResult, WantStatus


class TestResults:
    def test_reading_gives_what_was_committed_and_leaves_out_the_rest(self, state: State):
        commit(state, "a")
        assert state.results.get(["a", "b"]) == {"a": StoredResult("line 1", "body 1", "receipt 1")}
        assert state.results.get([]) == {}

    def test_any_text_survives(self, state: State):
        commit(state, "a", "Zürich 漢字 \x00\n\u2028")
        assert state.results.get(["a"])["a"].body == "body Zürich 漢字 \x00\n\u2028"

    def test_more_results_than_one_call_takes(self, state: State):
        jobs = [f"j{number}" for number in range(MAX_JOBS_PER_CALL + 5)]
        assert all(state.claims.commit([finished(job, job) for job in jobs], owner="w1"))
        found = state.results.get(jobs)
        assert [found[job].body for job in jobs] == [f"body {job}" for job in jobs]

    def test_reading_keeps_a_result_and_its_index_alive(self, adapter: Adapter):
        state = adapter.state
        state.claims.commit([finished("a", skill="s"), finished("b", skill="s")], owner="w1")
        for _ in range(3):
            adapter.advance(adapter.timing.result_ttl_s - 10)
            assert "a" in state.results.get(["a"])
        assert state.results.get(["b"]) == {}
        assert state.results.of_skill("s") == ["a"]

    def test_a_hit_keeps_a_result_and_its_index_alive(self, adapter: Adapter):
        state = adapter.state
        state.claims.commit([finished("a", skill="s")], owner="w1")
        for number in range(3):
            adapter.advance(adapter.timing.result_ttl_s - 10)
            lead = take_lead(state, f"r{number}")
            assert want(state, lead, "a").status is WantStatus.HIT
        assert state.results.of_skill("s") == ["a"]

    def test_results_are_indexed_by_the_document_they_were_obtained_with(self, state: State):
        state.claims.commit(
            [finished("a", skill="s"), finished("b", skill="t"), finished("c", skill="s")],
            owner="w1",
        )
        state.claims.commit([finished("d")], owner="w1")
        assert state.results.of_skill("s") == ["a", "c"]
        assert state.results.of_skill("t") == ["b"]
        assert state.results.of_skill("unknown") == []

    def test_a_forgotten_result_is_run_again(self, state: State):
        lead, other = take_lead(state, "r1"), take_lead(state, "r2")
        start(state, lead, "a")
        state.claims.commit([finished("a", skill="s")], owner="w1")
        want(state, lead, "a")
        want(state, other, "a")
        state.results.forget(lead, ["a", "unknown"])
        assert state.results.get(["a"]) == {}
        assert state.results.of_skill("s") == []
        assert state.runs.ledger("r1") == {}
        assert want(state, lead, "a").status is WantStatus.SEND
        # What another run has seen stays what it goes by.
        assert want(state, other, "a").line == "line 1"

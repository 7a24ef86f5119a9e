from __future__ import annotations

import pytest
from jobs import claim, commit, finished, start, take_lead, want
from state_adapters import Adapter

from skillopt.state.ports import MAX_JOBS_PER_CALL, CacheEntry, ClaimStatus, State, WantStatus


def listed(state: State) -> dict[str, CacheEntry]:
    """Every result; the test fails if one is listed twice."""
    entries = [entry for page in state.cache.pages() for entry in page]
    assert len({entry.job for entry in entries}) == len(entries)
    return {entry.job: entry for entry in entries}


class TestLooking:
    def test_every_result_is_listed_with_what_is_known_of_it(self, state: State):
        lead = take_lead(state)
        start(state, lead, "described")
        state.claims.commit([finished("described", "é", skill="s"), finished("judged")], owner="w1")
        entries = listed(state)
        assert sorted(entries) == ["described", "judged"]
        entry = entries["described"]
        assert (entry.line, entry.receipt, entry.skill) == ("line é", "receipt é", "s")
        assert entry.spec == b"described"
        assert entry.size == len("line ébody éreceipt édescribed".encode())
        assert (entries["judged"].spec, entries["judged"].skill) == (None, None)

    def test_more_results_than_one_page(self, state: State):
        jobs = [f"j{number}" for number in range(3 * MAX_JOBS_PER_CALL + 5)]
        state.claims.commit([finished(job) for job in jobs], owner="w1")
        assert sorted(listed(state)) == sorted(jobs)
        assert sorted(state.cache.peek([*jobs, "none"])) == sorted(jobs)

    def test_an_empty_state_has_nothing(self, state: State):
        assert listed(state) == {}
        assert state.cache.peek([]) == {}
        assert state.cache.skills("") == []
        assert [size for page in state.cache.blob_pages() for size in page] == []

    def test_a_result_ages_and_looking_at_it_does_not_renew_it(self, adapter: Adapter):
        state, ttl_s = adapter.state, adapter.timing.result_ttl_s
        commit(state, "old")
        adapter.advance(ttl_s - 100)
        commit(state, "new")
        found = state.cache.peek(["old", "new"])
        assert found["old"].expires_in_s == pytest.approx(100, abs=20)
        assert found["new"].expires_in_s == pytest.approx(ttl_s, abs=20)
        made = {job: entry.made_at or 0 for job, entry in found.items()}
        assert made["new"] - made["old"] == pytest.approx(ttl_s - 100, abs=20)
        listed(state)
        adapter.advance(110)
        assert sorted(listed(state)) == ["new"]
        assert state.cache.peek(["old"]) == {}

    def test_documents_are_found_by_the_beginning_of_their_hash(self, state: State):
        for job, skill in (("a", "aa11"), ("b", "aa22"), ("c", "bb11")):
            state.claims.commit([finished(job, skill=skill)], owner="w1")
        assert state.cache.skills("aa") == ["aa11", "aa22"]
        assert state.cache.skills("bb11") == ["bb11"]
        assert state.cache.skills("cc") == []
        assert state.cache.skills("") == ["aa11", "aa22", "bb11"]

    def test_blobs_are_counted(self, state: State):
        state.blobs.put([b"one", b"two" * 1000, b"one"])
        sizes = [size for page in state.cache.blob_pages() for size in page]
        assert len(sizes) == 2
        assert all(sizes)

    def test_a_job_is_described_by_its_result_once_it_has_one(self, state: State):
        lead = take_lead(state)
        start(state, lead, "a")
        commit(state, "a")
        assert claim(state, "a", owner="late").status is ClaimStatus.DONE
        state.results.forget(lead, ["a"])
        assert claim(state, "a", owner="late").status is ClaimStatus.UNKNOWN
        assert want(state, lead, "a").status is WantStatus.SEND
        assert claim(state, "a").spec == b"a"


class TestRemoving:
    def test_a_removed_result_leaves_its_index_and_is_run_again(self, state: State):
        state.claims.commit([finished("a", skill="s"), finished("b", skill="s")], owner="w1")
        removal = state.cache.remove(["a", "a", "never there"], spare=[])
        assert (removal.removed, removal.kept) == (("a",), ())
        assert state.results.of_skill("s") == ["b"]
        assert sorted(listed(state)) == ["b"]
        assert want(state, take_lead(state), "a").status is WantStatus.SEND

    def test_a_document_without_results_is_listed_no_more(self, state: State):
        state.claims.commit([finished("a", skill="s")], owner="w1")
        state.cache.remove(["a"], spare=[])
        assert state.cache.skills("") == []

    def test_what_a_spared_run_goes_by_is_kept(self, state: State):
        lead, other = take_lead(state, "r1"), take_lead(state, "r2")
        for job in ("a", "b", "c"):
            commit(state, job)
        want(state, lead, "a")
        want(state, other, "b")
        removal = state.cache.remove(["a", "b", "c"], spare=["r1", "unknown"])
        assert (removal.removed, removal.kept) == (("b", "c"), ("a",))
        assert sorted(listed(state)) == ["a"]
        # What a run has seen stays what it goes by.
        assert want(state, other, "b").line == "line 1"

    def test_more_jobs_than_one_call_takes(self, state: State):
        lead = take_lead(state)
        jobs = [f"j{number}" for number in range(MAX_JOBS_PER_CALL + 5)]
        state.claims.commit([finished(job) for job in jobs], owner="w1")
        want(state, lead, "j3")
        many = [f"run-{number}" for number in range(60)]
        removal = state.cache.remove(jobs, spare=[*many, "r1"])
        assert removal.kept == ("j3",)
        assert len(removal.removed) == len(jobs) - 1

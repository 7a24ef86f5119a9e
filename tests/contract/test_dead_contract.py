"""Dead jobs as people see them, and their second chance."""

from __future__ import annotations

from jobs import claim, commit, lose, start, take_lead, want
from state_adapters import Adapter

from skillopt.state.ports import ClaimStatus, State, TroubledJob, WantStatus


def test_a_dead_job_tells_why_when_how_often_and_whose_it_was(adapter: Adapter):
    state = adapter.state
    lead = take_lead(state)
    lose(adapter, lead, 5)
    before = state.server.now()
    answer = want(state, lead)
    assert answer.status is WantStatus.DEAD
    assert state.dead.jobs() == ["j"]
    job = state.dead.look(["j"])["j"]
    assert job.died_at is not None
    assert abs(job.died_at - before) < 60
    assert job == TroubledJob(
        "j",
        reason=answer.reason,
        died_at=job.died_at,
        claims=2,
        quarantine_claims=3,
        claimed_by="lost-4",
        runs=("r1",),
        spec=b"j",
    )


def test_a_job_that_was_given_back_tells_why_and_how_often(state: State):
    lead = take_lead(state)
    start(state, lead)
    state.claims.release("j", owner="w1", delay_s=9, reason="auth: no key")
    job = state.dead.look(["j", "unheard of"])
    assert list(job) == ["j"]
    assert (job["j"].reason, job["j"].rounds, job["j"].died_at) == ("auth: no key", 1, None)
    assert job["j"].claimed_by == "w1"
    assert state.dead.jobs() == []


def test_a_claim_on_the_last_message_also_records_the_death(adapter: Adapter):
    lead = take_lead(adapter.state)
    lose(adapter, lead, 5)
    late = claim(adapter.state, owner="late", lane="quarantine")
    assert late.status is ClaimStatus.DEAD
    assert adapter.state.dead.look(["j"])["j"].died_at is not None
    assert adapter.state.dead.look(["j"])["j"].claimed_by == "lost-4"


def test_a_revived_job_is_sent_anew_and_its_waiters_are_told(adapter: Adapter):
    state = adapter.state
    lead = take_lead(state)
    lose(adapter, lead, 5)
    assert want(state, lead).status is WantStatus.DEAD
    cursor = state.doorbell.wait("r1", "", timeout_s=0)
    state.dead.revive(["j"])
    assert state.doorbell.wait("r1", cursor, timeout_s=5) != cursor
    assert state.dead.jobs() == []
    answer = want(state, lead)
    assert (answer.status, answer.lane, answer.rounds) == (WantStatus.SEND, "normal", 0)
    assert claim(state, owner="new").status is ClaimStatus.RUN
    assert commit(state, owner="new")
    assert state.dead.look(["j"]) == {}


def test_reviving_forgets_holds_and_needs_no_lead(state: State):
    lead = take_lead(state)
    start(state, lead)
    state.claims.release("j", owner="w1", delay_s=500, reason="auth: no")
    state.runs.resign(lead)
    state.dead.revive(["j"])
    lead = take_lead(state, owner="c2")
    assert want(state, lead).status is WantStatus.SEND


def test_reviving_leaves_a_running_worker_alone(state: State):
    lead = take_lead(state)
    start(state, lead)
    state.dead.revive(["j"])
    assert want(state, lead).status is WantStatus.LEASED
    assert state.dead.look(["j"])["j"].claims == 1


def test_looking_renews_nothing(adapter: Adapter):
    lead = take_lead(adapter.state)
    lose(adapter, lead, 5)
    want(adapter.state, lead)
    adapter.advance(adapter.timing.spec_ttl_s - 10)
    assert adapter.state.dead.jobs() == ["j"]
    assert adapter.state.dead.look(["j"])
    adapter.advance(20)
    assert adapter.state.dead.jobs() == []
    assert adapter.state.dead.look(["j"]) == {}

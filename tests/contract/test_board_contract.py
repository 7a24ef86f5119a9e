from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from jobs import claim, commit, lose, start, statuses, take_lead, want, want_all
from state_adapters import Adapter

from skillopt.errors import Fenced
from skillopt.state.ports import (
    MAX_JOBS_PER_CALL,
    ClaimStatus,
    Lead,
    State,
    WantAnswer,
    WantStatus,
)


@dataclass(frozen=True)
class Situation:
    """What happened to job "j" before the run wants it (again), and what it must be told."""

    name: str
    before: Callable[[Adapter, Lead], None]
    answer: WantAnswer


def _release(adapter: Adapter, lead: Lead, delay_s: float, reason: str) -> None:
    start(adapter.state, lead)
    assert adapter.state.claims.release("j", owner="w1", delay_s=delay_s, reason=reason)


def _nothing(_adapter: Adapter, _lead: Lead) -> None:
    """Nobody has heard of the job."""


def _sent(adapter: Adapter, lead: Lead, *, then_wait: float = 0) -> None:
    want(adapter.state, lead)
    adapter.advance(then_wait)


def _sent_twice(adapter: Adapter, lead: Lead, *, then_wait: float) -> None:
    _sent(adapter, lead, then_wait=61)
    _sent(adapter, lead, then_wait=then_wait)


def _done(adapter: Adapter, lead: Lead) -> None:
    start(adapter.state, lead)
    commit(adapter.state)


def _released_and_rested(adapter: Adapter, lead: Lead) -> None:
    _release(adapter, lead, 20, "rate_limited: slow down")
    adapter.advance(21)


def _unwanted_message_arrived(adapter: Adapter, lead: Lead) -> None:
    want(adapter.state, lead)
    adapter.state.board.unwant(lead, ["j"])
    assert claim(adapter.state).status is ClaimStatus.UNWANTED


SITUATIONS = [
    Situation("unknown job", _nothing, WantAnswer("j", WantStatus.SEND)),
    Situation("message under way", _sent, WantAnswer("j", WantStatus.QUEUED)),
    Situation(
        "message unclaimed for long",
        lambda adapter, lead: _sent(adapter, lead, then_wait=61),
        WantAnswer("j", WantStatus.SEND),
    ),
    Situation(
        "second message waits twice as long",
        lambda adapter, lead: _sent_twice(adapter, lead, then_wait=110),
        WantAnswer("j", WantStatus.QUEUED),
    ),
    Situation(
        "second message unclaimed for twice as long",
        lambda adapter, lead: _sent_twice(adapter, lead, then_wait=121),
        WantAnswer("j", WantStatus.SEND),
    ),
    Situation(
        "worker on it",
        lambda adapter, lead: start(adapter.state, lead),
        WantAnswer("j", WantStatus.LEASED),
    ),
    Situation(
        "worker vanished",
        lambda adapter, lead: lose(adapter, lead, 1),
        WantAnswer("j", WantStatus.SEND),
    ),
    Situation(
        "two workers vanished",
        lambda adapter, lead: lose(adapter, lead, 2),
        WantAnswer("j", WantStatus.SEND, lane="quarantine"),
    ),
    Situation(
        "two workers vanished, and two in quarantine",
        lambda adapter, lead: lose(adapter, lead, 4),
        WantAnswer("j", WantStatus.SEND, lane="quarantine"),
    ),
    Situation(
        "two workers vanished, and three in quarantine",
        lambda adapter, lead: lose(adapter, lead, 5),
        WantAnswer(
            "j",
            WantStatus.DEAD,
            reason="lost: 2 claims were lost, then 3 more in quarantine",
        ),
    ),
    Situation("result there", _done, WantAnswer("j", WantStatus.HIT, line="line 1")),
    Situation(
        "given back, rested",
        _released_and_rested,
        WantAnswer("j", WantStatus.SEND, reason="rate_limited: slow down", rounds=1),
    ),
    Situation(
        "given back by a worker that stops",
        lambda adapter, lead: _release(adapter, lead, 0, "draining: stop"),
        WantAnswer("j", WantStatus.SEND, reason="draining: stop"),
    ),
    Situation(
        "message arrived while nobody waited",
        _unwanted_message_arrived,
        WantAnswer("j", WantStatus.SEND),
    ),
]


class TestJobBoard:
    @pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
    def test_want_answers(self, adapter: Adapter, situation: Situation):
        lead = take_lead(adapter.state)
        situation.before(adapter, lead)
        assert want(adapter.state, lead) == situation.answer

    def test_a_held_job_says_how_long_and_why(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        _release(adapter, lead, 20, "rate_limited: slow down")
        adapter.advance(5)
        answer = want(adapter.state, lead)
        assert (answer.status, answer.reason) == (WantStatus.HELD, "rate_limited: slow down")
        assert answer.rounds == 1
        assert 14 < answer.delay_s <= 15

    def test_rounds_add_up_over_give_backs(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        for expected in (1, 2, 3):
            _release(adapter, lead, 1, "server_error: 503")
            adapter.advance(1.1)
            assert (
                adapter.state.claims.claim("j", run="r1", owner="w1", lane="normal").status
                is ClaimStatus.RUN
            )
            adapter.state.claims.release("j", owner="w1", delay_s=0, reason="draining: stop")
            answer = want_all(adapter.state, lead, ["j"], room=0)[0]
            assert (answer.status, answer.rounds) == (WantStatus.LATER, expected)

    def test_two_runs_share_one_flight(self, state: State):
        first, second = take_lead(state, "r1"), take_lead(state, "r2")
        assert want(state, first).status is WantStatus.SEND
        assert want(state, second).status is WantStatus.QUEUED
        assert claim(state, owner="w1").status is ClaimStatus.RUN
        assert claim(state, run="r2", owner="w2").status is ClaimStatus.BUSY
        cursors = {run: state.doorbell.wait(run, "", timeout_s=0) for run in ("r1", "r2")}
        assert commit(state)
        for run, cursor in cursors.items():
            assert state.doorbell.wait(run, cursor, timeout_s=5) != cursor
        assert want(state, first).line == want(state, second).line == "line 1"
        assert state.runs.ledger("r1") == state.runs.ledger("r2") == {"j": "line 1"}

    def test_hits_take_no_room_and_what_does_not_fit_is_not_registered(self, state: State):
        lead = take_lead(state)
        start(state, lead, "done")
        commit(state, "done")
        answers = want_all(state, lead, ["a", "done", "b", "c"], room=2)
        assert statuses(answers) == [
            WantStatus.SEND, WantStatus.HIT, WantStatus.SEND, WantStatus.LATER,
        ]  # fmt: skip
        assert claim(state, "c").status is ClaimStatus.UNKNOWN

    def test_room_carries_over_when_a_call_is_cut_into_pieces(self, state: State):
        lead = take_lead(state)
        jobs = [f"j{number}" for number in range(2 * MAX_JOBS_PER_CALL + 7)]
        answers = want_all(state, lead, jobs, room=MAX_JOBS_PER_CALL + 3)
        assert [answer.job for answer in answers] == jobs
        assert statuses(answers).count(WantStatus.SEND) == MAX_JOBS_PER_CALL + 3
        assert set(statuses(answers[MAX_JOBS_PER_CALL + 3 :])) == {WantStatus.LATER}

    def test_the_ledger_line_outlives_and_outranks_the_result(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        _done(adapter, lead)
        assert want(adapter.state, lead).line == "line 1"
        adapter.advance(adapter.timing.result_ttl_s + 1)
        assert want(adapter.state, lead).line == "line 1"
        assert adapter.state.results.get(["j"]) == {}
        assert commit(adapter.state, text="2", owner="w2")
        assert want(adapter.state, lead).line == "line 1"

    def test_want_renews_what_an_unfinished_job_needs(self, adapter: Adapter):
        lead = take_lead(adapter.state)
        for _ in range(3):
            want(adapter.state, lead)
            adapter.advance(adapter.timing.spec_ttl_s - 10)
        assert claim(adapter.state).status is ClaimStatus.RUN

    def test_want_keeps_a_long_hold_in_force(self, adapter: Adapter):
        lead, ttl_s = take_lead(adapter.state), adapter.timing.spec_ttl_s
        _release(adapter, lead, 3 * ttl_s, "auth: no")
        adapter.advance(ttl_s - 10)
        assert want(adapter.state, lead).status is WantStatus.HELD
        adapter.advance(20)
        # A doubled message may come early; once it was claimed, the hold is over.
        assert claim(adapter.state).status is ClaimStatus.RUN
        adapter.advance(adapter.timing.lease_s + 1)
        answer = want(adapter.state, lead)
        assert (answer.status, answer.rounds) == (WantStatus.SEND, 1)

    def test_a_job_nobody_renews_is_forgotten(self, adapter: Adapter):
        want(adapter.state, take_lead(adapter.state))
        adapter.advance(adapter.timing.spec_ttl_s + 1)
        assert claim(adapter.state).status is ClaimStatus.UNKNOWN

    @pytest.mark.parametrize("operation", ["want", "unwant", "retry", "forget"])
    def test_only_the_present_lead_may(self, adapter: Adapter, operation: str):
        state = adapter.state
        old = take_lead(state, owner="c1")
        adapter.advance(adapter.timing.lead_s + 1)
        new = take_lead(state, owner="c2")
        impostor = Lead(run="r1", owner="c1", fence=new.fence)
        calls: dict[str, Callable[[Lead], object]] = {
            "want": lambda lead: want(state, lead),
            "unwant": lambda lead: state.board.unwant(lead, ["j"]),
            "retry": lambda lead: state.board.retry(lead, ["j"]),
            "forget": lambda lead: state.results.forget(lead, ["j"]),
        }
        earlier = Lead(run="r1", owner="c2", fence=new.fence - 1)
        for stranger in (old, impostor, earlier, Lead("r2", "c2", new.fence)):
            with pytest.raises(Fenced):
                calls[operation](stranger)
        calls[operation](new)

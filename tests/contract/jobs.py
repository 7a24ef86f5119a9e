"""Short words for what a coordinator and a worker do in the contract tests."""

from __future__ import annotations

from collections.abc import Sequence

from state_adapters import Adapter

from skillopt.state.ports import (
    Claim,
    ClaimStatus,
    Finished,
    Lane,
    Lead,
    State,
    Want,
    WantAnswer,
    WantStatus,
)


def take_lead(state: State, run: str = "r1", owner: str = "c1") -> Lead:
    state.runs.create(run, meta={}, events=[], status="new")
    lead = state.runs.lead(run, owner)
    assert lead is not None
    return lead


def want_all(state: State, lead: Lead, jobs: Sequence[str], *, room: int = 100) -> list[WantAnswer]:
    return state.board.want(lead, [Want(job, job.encode()) for job in jobs], room=room)


def want(state: State, lead: Lead, job: str = "j") -> WantAnswer:
    [answer] = want_all(state, lead, [job])
    return answer


def statuses(answers: Sequence[WantAnswer]) -> list[WantStatus]:
    return [answer.status for answer in answers]


def claim(
    state: State, job: str = "j", *, run: str = "r1", owner: str = "w1", lane: Lane = "normal"
) -> Claim:
    return state.claims.claim(job, run=run, owner=owner, lane=lane)


def start(state: State, lead: Lead, job: str = "j", *, owner: str = "w1") -> None:
    """Want a job and have a worker claim it."""
    answer = want(state, lead, job)
    assert answer.status is WantStatus.SEND
    claimed = claim(state, job, run=lead.run, owner=owner, lane=answer.lane)
    assert claimed.status is ClaimStatus.RUN


def finished(job: str = "j", text: str = "1", *, skill: str | None = None) -> Finished:
    return Finished(job, f"line {text}", f"body {text}", f"receipt {text}", skill)


def commit(state: State, job: str = "j", text: str = "1", *, owner: str = "w1") -> bool:
    [first] = state.claims.commit([finished(job, text)], owner=owner)
    return first


def lose(adapter: Adapter, lead: Lead, times: int) -> None:
    """Have workers take the job and vanish, in whichever lane it is sent to."""
    for number in range(times):
        answer = want(adapter.state, lead)
        assert answer.status is WantStatus.SEND
        taken = claim(adapter.state, owner=f"lost-{number}", lane=answer.lane)
        assert taken.status is ClaimStatus.RUN
        adapter.advance(adapter.timing.lease_s + 1)

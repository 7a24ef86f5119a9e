"""Short words for what a coordinator and a worker do in the contract tests."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.fingerprint import sha256_hex
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


def job_id(name: str) -> str:
    return sha256_hex(name.encode())


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

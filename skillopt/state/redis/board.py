"""The coordinator's side of the jobs, in Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import Lane, Lead, Want, WantAnswer, WantStatus
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import Argument, Limits, Scripts, chunks, fenced


class RedisBoard:
    """Scripts want, unwant and retry."""

    def __init__(self, scripts: Scripts, limits: Limits) -> None:
        self._scripts = scripts
        self._limits = limits

    def want(self, lead: Lead, wants: Sequence[Want], *, room: int) -> list[WantAnswer]:
        answers: list[WantAnswer] = []
        for chunk in chunks(wants):
            reply = self._scripts.call(
                "want", _want_keys(lead, chunk), self._want(lead, chunk, room)
            )
            if reply[0] == b"fenced":
                raise fenced(lead)
            room = reply[1]
            answers.extend(map(_answer, (want.job for want in chunk), reply[2:]))
        return answers

    def _want(self, lead: Lead, wants: Sequence[Want], room: int) -> list[Argument]:
        limits = self._limits
        arguments: list[Argument] = [
            lead.run, lead.owner, lead.fence, room,
            limits.spec_ttl, limits.result_ttl, limits.resend,
            limits.max_lost_claims, limits.max_quarantine_claims,
            keys.SKILL_PREFIX, *limits.bell,
        ]  # fmt: skip
        for want in wants:
            arguments += (want.job, want.spec)
        return arguments

    def unwant(self, lead: Lead, jobs: Sequence[str], *, keep_leased: bool = False) -> None:
        arguments = (lead.run, lead.owner, lead.fence, int(keep_leased))
        for chunk in chunks(jobs):
            names = [keys.run_lease(lead.run)]
            for job in chunk:
                names += (keys.waiters(job), keys.lease(job))
            if self._scripts.call("unwant", names, arguments) != b"ok":
                raise fenced(lead)

    def retry(self, lead: Lead, jobs: Sequence[str]) -> None:
        for chunk in chunks(jobs):
            names = [keys.run_lease(lead.run)]
            for job in chunk:
                names += (keys.job(job), keys.dead(job))
            if self._scripts.call("retry", names, (lead.owner, lead.fence)) != b"ok":
                raise fenced(lead)


def _want_keys(lead: Lead, wants: Sequence[Want]) -> list[str]:
    names = [keys.run_lease(lead.run), keys.ledger(lead.run)]
    for want in wants:
        job = want.job
        names += (
            keys.result(job), keys.lease(job), keys.job(job), keys.waiters(job), keys.spec(job),
            keys.dead(job),
        )  # fmt: skip
    return names


def _answer(job: str, reply: list[Any]) -> WantAnswer:
    status, line, lane, delay_ms, reason, rounds = reply
    what = f"the answer for job {job!r}"
    try:
        known = WantStatus(text(status, what))
    except ValueError as error:
        raise StateCorrupt(f"{what} has the status {status!r}, which is not known") from error
    return WantAnswer(
        job=job,
        status=known,
        line=text(line, f"the result line of job {job!r}") if known is WantStatus.HIT else None,
        lane=cast(Lane, text(lane, what)),
        delay_s=delay_ms / 1000,
        reason=text(reason, what),
        rounds=rounds,
    )

"""The worker's side of the jobs, in Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.state import keys
from skillopt.state.ports import NO_ROUND, Claim, ClaimStatus, Finished, Lane, RenewStatus
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import Argument, Limits, Scripts, chunks


class RedisClaims:
    """Scripts claim, renew, release, abandon and commit."""

    def __init__(self, scripts: Scripts, limits: Limits) -> None:
        self._scripts = scripts
        self._limits = limits

    def claim(self, job: str, *, run: str, owner: str, lane: Lane) -> Claim:
        limits = self._limits
        reply = self._scripts.call(
            "claim",
            (
                keys.result(job), keys.dead(job), keys.lease(job), keys.spec(job),
                keys.waiters(job), keys.job(job), keys.meter(run),
            ),
            (
                owner, lane, limits.lease, limits.spec_ttl,
                limits.max_lost_claims, limits.max_quarantine_claims, *limits.bell, run,
            ),
        )  # fmt: skip
        status = ClaimStatus(text(reply[0], f"the claim on job {job!r}"))
        if status is not ClaimStatus.RUN:
            return Claim(status)
        waited_s = None if reply[4] < 0 else reply[4] / 1000
        return Claim(
            status, spec=reply[1], repaid_calls=reply[2], attempt=reply[3], waited_s=waited_s
        )

    def renew(self, leases: Mapping[str, str]) -> dict[str, RenewStatus]:
        statuses: dict[str, RenewStatus] = {}
        for chunk in chunks(list(leases.items())):
            names: list[str] = []
            for job, _ in chunk:
                names += (keys.lease(job), keys.waiters(job))
            owners = (owner for _, owner in chunk)
            reply = self._scripts.call("renew", names, (self._limits.lease, *owners))
            for (job, _), status in zip(chunk, reply, strict=True):
                statuses[job] = RenewStatus(text(status, f"the lease of job {job!r}"))
        return statuses

    def release(
        self, job: str, *, owner: str, delay_s: float, reason: str, drop_run: str | None = None
    ) -> bool:
        limits = self._limits
        is_round = reason.partition(":")[0].strip() not in NO_ROUND
        reply = self._scripts.call(
            "release",
            (keys.lease(job), keys.job(job), keys.waiters(job)),
            (
                owner, max(0, round(delay_s * 1000)), reason, int(is_round), drop_run or "",
                limits.spec_ttl, *limits.bell,
            ),
        )  # fmt: skip
        return bool(reply)

    def abandon(self, job: str, *, owner: str) -> bool:
        names = (keys.lease(job), keys.job(job), keys.waiters(job))
        return bool(self._scripts.call("abandon", names, (owner,)))

    def commit(self, finished: Sequence[Finished], *, owner: str) -> list[bool]:
        won: list[bool] = []
        for chunk in chunks(finished):
            names: list[str] = []
            arguments: list[Argument] = [
                owner, self._limits.result_ttl, keys.SKILL_PREFIX, *self._limits.bell,
            ]  # fmt: skip
            for one in chunk:
                job = one.job
                names += (
                    keys.result(job), keys.lease(job), keys.job(job), keys.waiters(job),
                    keys.dead(job), keys.spec(job),
                )  # fmt: skip
                arguments += (job, one.line, one.body, one.receipt, one.skill or "")
            won.extend(bool(first) for first in self._scripts.call("commit", names, arguments))
        return won

"""Jobs that went wrong, in Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import redis

from skillopt.state import keys
from skillopt.state.ports import TroubledJob
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Limits, Scripts, chunks

_FIELDS: Final = ("reason", "died", "claims", "qclaims", "rounds", "by", "sent", "claimed")
#: Keys the server looks at in one step of a scan.
_SCAN_COUNT: Final = 1000
_COMMANDS_PER_JOB: Final = 5


class RedisDead:
    """Script revive; everything else is SCAN and plain reads in pipelines."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def jobs(self) -> list[str]:
        prefix = keys.dead("")
        with translated():
            names = set(self._client.scan_iter(match=f"{prefix}*", count=_SCAN_COUNT))
        return sorted(text(name, "the name of a key").removeprefix(prefix) for name in names)

    def look(self, jobs: Sequence[str]) -> dict[str, TroubledJob]:
        found: dict[str, TroubledJob] = {}
        for chunk in chunks(jobs):
            pipeline = self._client.pipeline(transaction=False)
            for job in chunk:
                pipeline.exists(keys.job(job))
                pipeline.hmget(keys.job(job), *_FIELDS)
                pipeline.get(keys.dead(job))
                pipeline.smembers(keys.waiters(job))
                pipeline.get(keys.spec(job))
            with translated():
                replies = pipeline.execute()
            for index, job in enumerate(chunk):
                start = index * _COMMANDS_PER_JOB
                known, fields, dead, runs, spec = replies[start : start + _COMMANDS_PER_JOB]
                if known or dead is not None:
                    found[job] = _troubled(job, fields, dead, runs, spec)
        return found

    def revive(self, jobs: Sequence[str]) -> None:
        for chunk in chunks(jobs):
            names: list[str] = []
            for job in chunk:
                names += (keys.job(job), keys.dead(job), keys.lease(job), keys.waiters(job))
            self._scripts.call("revive", names, self._limits.bell)


def _troubled(
    job: str,
    fields: Sequence[bytes | None],
    dead: bytes | None,
    runs: Iterable[Any],
    spec: bytes | None,
) -> TroubledJob:
    what = f"job {job!r}"
    held, died, claims, quarantine_claims, rounds, owner, sent, claimed = fields
    waits = sent is not None and claimed in (None, b"0")
    reason = held if dead is None else dead
    return TroubledJob(
        job,
        reason=text(reason or b"", f"the reason of {what}"),
        died_at=None if dead is None or died is None else integer(died, f"death of {what}") / 1000,
        claims=integer(claims or 0, f"claims of {what}"),
        quarantine_claims=integer(quarantine_claims or 0, f"quarantine claims of {what}"),
        rounds=integer(rounds or 0, f"rounds of {what}"),
        claimed_by=text(owner or b"", f"the last claim of {what}"),
        sent_at=integer(sent, f"the last message of {what}") / 1000 if waits else None,
        runs=tuple(sorted(text(run, f"a waiter of {what}") for run in runs)),
        spec=spec,
    )

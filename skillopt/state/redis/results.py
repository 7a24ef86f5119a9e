"""Results, in Redis."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from skillopt.state import keys
from skillopt.state.ports import Lead, StoredResult
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import Argument, Limits, Scripts, chunks, fenced


class RedisResults:
    """Scripts read and forget."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def get(self, jobs: Sequence[str]) -> dict[str, StoredResult]:
        found: dict[str, StoredResult] = {}
        for chunk in chunks(jobs):
            names = [keys.result(job) for job in chunk]
            reply = self._scripts.call("read", names, (self._limits.result_ttl, keys.SKILL_PREFIX))
            for job, fields in zip(chunk, reply, strict=True):
                if fields:
                    parts = (text(value, f"the result of job {job!r}") for value in fields)
                    found[job] = StoredResult(*parts)
        return found

    def forget(self, lead: Lead, jobs: Sequence[str]) -> None:
        for chunk in chunks(jobs):
            names = [keys.run_lease(lead.run), keys.ledger(lead.run), *map(keys.result, chunk)]
            arguments: list[Argument] = [lead.owner, lead.fence, keys.SKILL_PREFIX, *chunk]
            if self._scripts.call("forget", names, arguments) != b"ok":
                raise fenced(lead)

    def of_skill(self, skill: str) -> list[str]:
        with translated():
            members = self._client.smembers(keys.skill(skill))
            jobs = sorted(text(member, f"a job of skill {skill!r}") for member in members)
            pipeline = self._client.pipeline(transaction=False)
            for job in jobs:
                pipeline.exists(keys.result(job))
            return [job for job, exists in zip(jobs, pipeline.execute(), strict=True) if exists]

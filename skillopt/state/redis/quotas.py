"""What owners may have at once, in Redis."""

from __future__ import annotations

from typing import Any

import redis

from skillopt.state import keys
from skillopt.state.ports import OwnerQuota
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Scripts


class RedisQuotas:
    """Script quotas; create and step hold owners to them."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    def set(self, owner: str, *, max_runs: int | None, max_window: int | None) -> None:
        given = {"max_runs": max_runs, "max_window": max_window}
        limits = {name: limit for name, limit in given.items() if limit is not None}
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.delete(keys.quota(owner))
            if limits:
                pipeline.hset(keys.quota(owner), mapping={k: str(v) for k, v in limits.items()})
                pipeline.sadd(keys.QUOTAS, owner)
            else:
                pipeline.srem(keys.QUOTAS, owner)
            pipeline.execute()

    def get(self, owner: str) -> OwnerQuota:
        found = [row for row in self._rows(owner) if row.owner == owner]
        return found[0] if found else OwnerQuota(owner)

    def all(self) -> list[OwnerQuota]:
        return sorted(self._rows(""), key=lambda row: row.owner)

    def _rows(self, owner: str) -> list[OwnerQuota]:
        prefixes = (keys.RUN_PREFIX, keys.QUOTA_PREFIX)
        reply = self._scripts.call("quotas", (keys.QUOTAS, keys.OPEN_RUNS), (*prefixes, owner))
        return [_quota(row) for row in reply]


def _quota(row: list[Any]) -> OwnerQuota:
    owner, max_runs, max_window, runs = row
    name = text(owner, "the owner of a quota")
    return OwnerQuota(
        owner=name,
        max_runs=integer(max_runs, f"max_runs of owner {name!r}") if max_runs else None,
        max_window=integer(max_window, f"max_window of owner {name!r}") if max_window else None,
        runs=runs,
    )

"""Which runs are watched, in Redis: a hash for each, and a set of them."""

from __future__ import annotations

from typing import Any

import redis

from skillopt.state import keys
from skillopt.state.ports.notices import WatchedRun
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Limits, Scripts

_TOLD = "told:"


class RedisNotices:
    """Scripts tell, advance and told."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def watch(self, run: str, target: str, *, cursor: int = 0) -> None:
        with translated(), self._client.pipeline(transaction=True) as pipeline:
            pipeline.hset(keys.notices(run), "target", target)
            pipeline.hsetnx(keys.notices(run), "cursor", str(cursor))
            pipeline.sadd(keys.NOTICES, run)
            pipeline.execute()

    def unwatch(self, run: str) -> None:
        with translated(), self._client.pipeline(transaction=True) as pipeline:
            pipeline.delete(keys.notices(run))
            pipeline.srem(keys.NOTICES, run)
            pipeline.execute()

    def runs(self) -> list[str]:
        with translated():
            names: Any = self._client.smembers(keys.NOTICES)
        return sorted(text(name, f"a name in {keys.NOTICES!r}") for name in names)

    def get(self, run: str) -> WatchedRun | None:
        with translated():
            fields: Any = self._client.hgetall(keys.notices(run))
        if b"target" not in fields:
            return None
        what = f"the notices of run {run!r}"
        names = (text(name, what) for name in fields)
        return WatchedRun(
            target=text(fields[b"target"], what),
            cursor=integer(fields.get(b"cursor", 0), what),
            told=frozenset(one.removeprefix(_TOLD) for one in names if one.startswith(_TOLD)),
        )

    def take(self, run: str, owner: str) -> bool:
        return bool(self._scripts.call("tell", (keys.telling(run),), (owner, self._limits.lead)))

    def advance(self, run: str, cursor: int) -> None:
        self._scripts.call("advance", (keys.notices(run),), (cursor,))

    def mark(self, run: str, news: str) -> None:
        self._scripts.call("told", (keys.notices(run),), (f"{_TOLD}{news}",))

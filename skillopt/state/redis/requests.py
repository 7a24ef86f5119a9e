"""What people ask of a run, as a stream in Redis."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from skillopt.state import keys
from skillopt.state.ports import PendingRequest
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import DOORBELL_LENGTH, Limits


class RedisRequests:
    """A repeated post (the server's answer got lost) is asked twice, which changes nothing."""

    def __init__(self, client: redis.Redis, limits: Limits) -> None:
        self._client = client
        self._limits = limits

    def post(self, run: str, request: str) -> str:
        asks, bell = keys.requests(run), keys.doorbell(run)
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.xadd(asks, {"request": request})
            pipeline.pexpire(asks, self._limits.doorbell_ttl)
            pipeline.xadd(bell, {"n": "1"}, maxlen=DOORBELL_LENGTH, approximate=True)
            pipeline.pexpire(bell, self._limits.doorbell_ttl)
            identifier, *_ = pipeline.execute()
        return text(identifier, f"the id of a request to run {run!r}")

    def pending(self, run: str) -> list[PendingRequest]:
        with translated():
            entries = self._client.xrange(keys.requests(run)) or []
        what = f"a request to run {run!r}"
        return [
            PendingRequest(text(number, what), text((fields or {}).get(b"request"), what))
            for number, fields in entries
        ]

    def settle(self, run: str, ids: Sequence[str]) -> None:
        if ids:
            with translated():
                self._client.xdel(keys.requests(run), *ids)

"""Doorbells, as streams in Redis: a cursor never misses what rang after it was taken."""

from __future__ import annotations

import time
from typing import Final

import redis

from skillopt.state import keys
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import text
from skillopt.state.redis.scripts import DOORBELL_LENGTH, Limits, milliseconds

#: The longest single blocking read. It must stay well below the client's socket timeout, or a
#: quiet doorbell would look like a dead server.
LONGEST_BLOCK_S: Final = 5.0
_BEFORE_ANYTHING: Final = "0-0"


class RedisDoorbell:
    def __init__(self, client: redis.Redis, limits: Limits) -> None:
        self._client = client
        self._limits = limits

    def wait(self, run: str, cursor: str, *, timeout_s: float) -> str:
        deadline = time.monotonic() + timeout_s
        cursor = cursor or self._latest(run)
        while True:
            left = deadline - time.monotonic()
            block = milliseconds(min(left, LONGEST_BLOCK_S)) if left > 0 else None
            with translated():
                news = self._client.xread({keys.doorbell(run): cursor}, count=1, block=block)
            if news:
                return self._latest(run)
            if block is None:
                return cursor

    def ring(self, run: str) -> None:
        stream = keys.doorbell(run)
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.xadd(stream, {"n": "1"}, maxlen=DOORBELL_LENGTH, approximate=True)
            pipeline.pexpire(stream, self._limits.doorbell_ttl)
            pipeline.execute()

    def _latest(self, run: str) -> str:
        with translated():
            entries = self._client.xrevrange(keys.doorbell(run), count=1)
        return text(entries[0][0], f"a ring of run {run!r}") if entries else _BEFORE_ANYTHING

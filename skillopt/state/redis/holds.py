"""Holds on credentials, as keys in Redis that expire when calls are allowed again."""

from __future__ import annotations

import redis

from skillopt.state import keys
from skillopt.state.redis.faults import translated
from skillopt.state.redis.scripts import Scripts, milliseconds


class RedisHolds:
    """Script hold."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

    def hold(self, credential: str, *, for_s: float) -> None:
        if for_s > 0:
            self._scripts.call("hold", (keys.hold(credential),), (milliseconds(for_s),))

    def remaining_s(self, credential: str) -> float:
        with translated():
            left_ms = self._client.pttl(keys.hold(credential))
        return max(0, left_ms) / 1000

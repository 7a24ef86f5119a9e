"""Limits of backends that a person set, in one hash of Redis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import redis

from skillopt.domain.backend import LimitName
from skillopt.state import keys
from skillopt.state.ports.limits import LIMIT_NAMES
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text

_WHAT = f"a limit in {keys.SET_LIMITS!r}"


class RedisSetLimits:
    def __init__(self, client: redis.Redis) -> None:
        self._client = client

    def set(self, backend: str, changes: Mapping[LimitName, int | None]) -> None:
        given = {_field(backend, name): value for name, value in changes.items()}
        with translated(), self._client.pipeline(transaction=True) as pipeline:
            for field, value in given.items():
                if value is None:
                    pipeline.hdel(keys.SET_LIMITS, field)
                else:
                    pipeline.hset(keys.SET_LIMITS, field, str(value))
            pipeline.execute()

    def of(self, backend: str) -> dict[LimitName, int]:
        with translated():
            fields = [_field(backend, name) for name in LIMIT_NAMES]
            found: Any = self._client.hmget(keys.SET_LIMITS, fields)
        pairs = zip(LIMIT_NAMES, found, strict=True)
        return {name: integer(value, _WHAT) for name, value in pairs if value is not None}

    def all(self) -> dict[str, dict[LimitName, int]]:
        with translated():
            fields: Any = self._client.hgetall(keys.SET_LIMITS)
        found: dict[str, dict[LimitName, int]] = {}
        for field, value in sorted(fields.items()):
            backend, _, written = text(field, _WHAT).partition(":")
            for name in LIMIT_NAMES:  # one that this version does not know is not shown
                if name == written:
                    found.setdefault(backend, {})[name] = integer(value, _WHAT)
        return found


def _field(backend: str, name: str) -> str:
    return f"{backend}:{name}"

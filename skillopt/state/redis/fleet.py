"""Live workers, as keys in Redis that expire unless announced again."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, fields
from typing import Any

import redis
from pydantic import TypeAdapter, ValidationError

from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import WorkerInfo
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, json_object, text
from skillopt.state.redis.scripts import Limits, Scripts

log = logging.getLogger(__name__)
_FIELDS = tuple(field.name for field in fields(WorkerInfo))
_INFO: TypeAdapter[WorkerInfo] = TypeAdapter(WorkerInfo)


class RedisFleet:
    """Script workers."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def announce(self, info: WorkerInfo) -> None:
        ttl = self._limits.worker_ttl
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.set(keys.worker(info.backend, info.worker), json.dumps(asdict(info)), px=ttl)
            pipeline.sadd(keys.FLEET, _member(info))
            pipeline.pexpire(keys.FLEET, ttl)
            pipeline.execute()

    def retire(self, info: WorkerInfo) -> None:
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.delete(keys.worker(info.backend, info.worker))
            pipeline.srem(keys.FLEET, _member(info))
            pipeline.execute()

    def workers(self) -> list[WorkerInfo]:
        reply = self._scripts.call("workers", (keys.FLEET,), (keys.WORKER_PREFIX,))
        known = [info for info in map(_info, reply) if info is not None]
        return sorted(known, key=lambda info: (info.backend, info.worker))

    def announce_coordinator(self, name: str) -> None:
        ttl = self._limits.worker_ttl
        with translated():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.zadd(keys.COORDINATORS, {name: self._now_ms() + ttl})
            pipeline.pexpire(keys.COORDINATORS, ttl)
            pipeline.execute()

    def retire_coordinator(self, name: str) -> None:
        with translated():
            self._client.zrem(keys.COORDINATORS, name)

    def coordinators(self) -> list[str]:
        with translated():
            now = self._now_ms()
            found: Any = self._client.zrangebyscore(keys.COORDINATORS, f"({now}", "+inf")
            self._client.zremrangebyscore(keys.COORDINATORS, "-inf", now)
        return sorted(text(name, f"a name in {keys.COORDINATORS!r}") for name in found)

    def _now_ms(self) -> int:
        """Only for who is shown as alive: nothing is decided by it."""
        reply: Any = self._client.time()
        seconds, microseconds = (integer(part, "the server's time") for part in reply)
        return seconds * 1000 + microseconds // 1000


def _member(info: WorkerInfo) -> str:
    return keys.worker(info.backend, info.worker).removeprefix(keys.WORKER_PREFIX)


def _info(announcement: bytes) -> WorkerInfo | None:
    """Read an announcement as far as this version knows it.

    A worker of another version may say more; one that says too little is not counted.
    """
    try:
        said = json_object(announcement, "a worker's announcement")
        return _INFO.validate_python({name: said[name] for name in _FIELDS if name in said})
    except (ValidationError, StateCorrupt) as error:
        log.warning("a worker is not understood: %s", error, extra={"event": "unknown_worker"})
        return None

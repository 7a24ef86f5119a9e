"""Live workers, as keys in Redis that expire unless announced again."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, fields

import redis
from pydantic import TypeAdapter, ValidationError

from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import WorkerInfo
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import json_object
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

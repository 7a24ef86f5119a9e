"""What a Redis server says of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import redis
from redis.exceptions import NoPermissionError, ResponseError

from skillopt.errors import StateCorrupt
from skillopt.state.ports import ServerFacts
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text

#: Settings that INFO does not show.
_SETTINGS = ("appendfsync", "databases")


class RedisServerFacts:
    """Reads INFO, CONFIG, TIME, and the length of the broker's lists.

    `broker` is connected to the broker's database, which is not the state's.
    """

    def __init__(self, client: redis.Redis, broker: redis.Redis) -> None:
        self._client = client
        self._broker = broker

    def facts(self) -> ServerFacts:
        with translated():
            info: Mapping[str, Any] = self._client.info()
            settings = self._settings()
        return ServerFacts(
            version=str(info.get("redis_version", "")),
            writable=info.get("role", "master") == "master",
            append_only=_flag(info.get("aof_enabled")),
            fsync=settings.get("appendfsync"),
            eviction=_word(info.get("maxmemory_policy")),
            max_memory=_number(info.get("maxmemory")),
            used_memory=_number(info.get("used_memory")),
            databases=_number(settings.get("databases")),
        )

    def now(self) -> float:
        with translated():
            reply: Any = self._client.time()
        seconds, microseconds = (integer(part, "the server's time") for part in reply)
        return seconds + microseconds / 1_000_000

    def oldest(self, lists: Sequence[str]) -> dict[str, bytes]:
        with translated():
            pipeline = self._broker.pipeline(transaction=False)
            for name in lists:
                pipeline.lindex(name, -1)  # new messages are put in front
            found = pipeline.execute()
        return {name: one for name, one in zip(lists, found, strict=True) if one is not None}

    def queued(self, lists: Sequence[str]) -> dict[str, int]:
        with translated():
            pipeline = self._broker.pipeline(transaction=False)
            for name in lists:
                pipeline.llen(name)
            lengths = pipeline.execute()
        return dict(zip(lists, lengths, strict=True))

    def _settings(self) -> dict[str, str]:
        """Read settings; a server that does not let us (many providers) gives none."""
        found: dict[str, str] = {}
        for name in _SETTINGS:  # one by one: before 7.0 the command takes a single name
            try:
                reply: Any = self._client.config_get(name)
            except (NoPermissionError, ResponseError):
                return found
            for value in reply.values():
                found[name] = text(value, f"the setting {name!r}")
        return found


def _word(value: object) -> str | None:
    return None if value is None else str(value)


def _number(value: object) -> int | None:
    """Read a number that the server may spell as it likes; None if it is none."""
    try:
        return None if value is None else integer(value, "a number of the server")
    except StateCorrupt:
        return None


def _flag(value: object) -> bool | None:
    number = _number(value)
    return None if number is None else number != 0

"""Everything that is in a Redis or passes through it, in plain."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import redis
import zstandard

from skillopt.state.urls import broker_url, state_url


def stored_values(url: str) -> Iterator[tuple[str, bytes]]:
    """Give every value of both databases in plain: unpacked, and decoded where it is encoded."""
    for address in (broker_for_redis_py(url), state_url(url)):
        with redis.Redis.from_url(address) as client:
            for key in client.scan_iter(count=1000):
                for value in _values(client, key):
                    name = key.decode()
                    yield name, key
                    yield name, value
                    if name.startswith("so:blob:"):
                        yield name, zstandard.ZstdDecompressor().decompress(value)
                    for body in _bodies(value):
                        yield name, body


@contextmanager
def events_of_celery(url: str) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Listen as Flower does; gives a function that tells every event heard so far."""
    heard: list[dict[str, Any]] = []
    with redis.Redis.from_url(broker_for_redis_py(url)) as client, client.pubsub() as subscription:
        subscription.psubscribe("*celeryev*")

        def tell() -> list[dict[str, Any]]:
            while (said := subscription.get_message(timeout=0.05)) is not None:
                for body in _bodies(said["data"]) if said["type"] == "pmessage" else ():
                    events = json.loads(body)
                    heard.extend(events if isinstance(events, list) else [events])
            return heard

        yield tell


def broker_for_redis_py(url: str) -> str:
    """Give the broker's database in the form that redis-py reads."""
    return broker_url(url).replace("redis+socket:", "unix:").replace("virtual_host=", "db=")


def _values(client: redis.Redis, key: bytes) -> list[bytes]:
    kind = client.type(key).decode()
    if kind == "string":
        return [client.get(key) or b""]
    if kind == "hash":
        return [part for pair in client.hgetall(key).items() for part in pair]
    if kind == "list":
        return client.lrange(key, 0, -1)
    if kind == "set":
        return list(client.smembers(key))
    if kind == "zset":
        return client.zrange(key, 0, -1)
    if kind == "stream":
        entries = client.xrange(key)
        return [part for _, fields in entries for pair in fields.items() for part in pair]
    return []


def _bodies(value: bytes) -> Iterator[bytes]:
    """Give the body of a queue message, alone or as the broker keeps it until it is confirmed."""
    try:
        message = json.loads(value)
    except ValueError:
        return
    message = message[0] if isinstance(message, list) and message else message
    if isinstance(message, dict) and isinstance(message.get("body"), str):
        yield base64.b64decode(message["body"])

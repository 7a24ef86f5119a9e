"""A key without a TTL that the key schema does not allow stays for ever: no test may leave one."""

from __future__ import annotations

import redis

from skillopt.state import keys
from skillopt.state.urls import state_url


def leaked_keys(url: str) -> list[str]:
    """Name the keys of the state behind a Redis URL that would stay for ever.

    The broker's database is exempt: its keys are Celery's.
    """
    with redis.Redis.from_url(state_url(url), decode_responses=True) as client:
        names = sorted(client.scan_iter(match=f"{keys.PREFIX}*", count=1000))
        return [name for name in names if client.ttl(name) == -1 and not keys.may_stay(name)]

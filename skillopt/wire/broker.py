"""Broker options that every Celery app on the database must share, each with its reason."""

from __future__ import annotations

from typing import Any

TRANSPORT_OPTIONS: dict[str, Any] = {
    # Longer than twice the longest job, or a running job is delivered again. The shortest value
    # of all apps on a database wins, which is why it stands here and not with one of them.
    "visibility_timeout": 900,
    # Sweep for messages of dead workers every 10 s instead of every 100 s.
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # Without a socket timeout a half-open connection stops a worker for ever.
    "socket_timeout": 15,
    "socket_connect_timeout": 5,
    "socket_keepalive": True,
    "health_check_interval": 10,
    # Lets an access rule name the broker's keys, and several apps share a database.
    "global_keyprefix": "cel:",
    # The lanes of one worker are served in turn.
    "queue_order_strategy": "round_robin",
}

#: Survive a failover while publishing; a message sent twice is harmless.
PUBLISH_RETRY_POLICY: dict[str, Any] = {
    "max_retries": 30,
    "interval_start": 0,
    "interval_step": 0.2,
    "interval_max": 2,
}


def stored_as(queue: str) -> str:
    """Name the list in which the broker keeps a queue's messages."""
    return f"{TRANSPORT_OPTIONS['global_keyprefix']}{queue}"

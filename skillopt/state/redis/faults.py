"""What goes wrong with Redis, in the terms of our own error tree."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from skillopt.errors import StateCorrupt, StateError, StateUnavailable

#: Error codes of a server that is there but cannot serve at the moment. A script that meets one
#: half-way reports it somewhere inside its own error text.
_AWAY: Final = (
    "OOM", "READONLY", "LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "MISCONF", "NOREPLICAS",
    "TRYAGAIN", "UNBLOCKED",
)  # fmt: skip
_WRONG_VALUE: Final = ("WRONGTYPE", "not an integer", "not a valid float", "user_script")


@contextmanager
def translated() -> Iterator[None]:
    """Turn redis-py's errors into StateUnavailable, StateCorrupt or StateError."""
    try:
        yield
    except (RedisConnectionError, RedisTimeoutError, OutOfMemoryError, ReadOnlyError) as error:
        raise StateUnavailable(f"Redis cannot serve now: {error}; is it up?") from error
    except RedisError as error:
        text = str(error)
        words = text.replace("-", " ").split()
        if any(code in words for code in _AWAY):
            raise StateUnavailable(f"Redis cannot serve now: {text}") from error
        if any(sign in text for sign in _WRONG_VALUE):
            raise StateCorrupt(f"a key in Redis does not hold what it should: {text}") from error
        raise StateError(f"Redis refused the operation: {text}") from error

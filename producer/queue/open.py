"""Which queue a URL means: a server's, or that in a shared Redis."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from producer.queue.over_http import HttpQueue
from producer.queue.port import Queue
from skillopt.config.runtime import timing
from skillopt.errors import ConfigError
from skillopt.state.redis.connect import connect

URL_VARIABLE: Final = "SKILLOPT_URL"
TOKEN_VARIABLE: Final = "SKILLOPT_TOKEN"  # noqa: S105 - the name of the variable
REDIS_VARIABLE: Final = "SKILLOPT_REDIS_URL"
#: Set to 1 where http:// to another machine is fine.
PLAIN_VARIABLE: Final = "SKILLOPT_PLAIN_HTTP"
_DEFAULT_STORE: Final = ".skillopt"


def open_queue(
    url: str | None = None,
    token: str | None = None,
    store: Path | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
) -> Queue:
    """Give the queue at a URL; close it afterwards.

    http(s):// is a server, which asks for the token; redis://, rediss:// and unix:// is the Redis
    itself, where the owner is only a label. What is not given is SKILLOPT_URL with SKILLOPT_TOKEN,
    else SKILLOPT_REDIS_URL. `store` is where run folders are looked for; a server needs none.
    Raises ConfigError for a URL that is not usable, or if there is none.
    """
    where = url or environ.get(URL_VARIABLE) or environ.get(REDIS_VARIABLE)
    if not where:
        raise ConfigError(
            f"no queue is named; give --url (or {URL_VARIABLE}) of a server, and {TOKEN_VARIABLE}; "
            f"or --redis (or {REDIS_VARIABLE})"
        )
    if where.partition("://")[0] in {"http", "https"}:
        token = token or environ.get(TOKEN_VARIABLE)
        if not token:
            raise ConfigError(
                f"the server at {where!r} asks for a token; set {TOKEN_VARIABLE} to one of "
                "`skillopt token create`"
            )
        return HttpQueue(where, token, plain_http=environ.get(PLAIN_VARIABLE, "0") == "1")
    return _on_redis(where, store or Path(_DEFAULT_STORE), environ)


def _on_redis(url: str, store: Path, environ: Mapping[str, str]) -> Queue:
    # Imported here: a client of a server needs nothing of it.
    from producer.queue.on_redis import RUNS, RedisQueue  # noqa: PLC0415
    from producer.queue.submission import SpecSubmitter  # noqa: PLC0415

    state = connect(url, timing(environ))
    submitter = SpecSubmitter(state, store / RUNS, environ)
    return RedisQueue(state, store, submitter=submitter, close=state.close)

"""Connect to the state in Redis."""

from __future__ import annotations

from dataclasses import dataclass
from types import TracebackType
from typing import Final

import redis
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from skillopt.domain.timing import Timing
from skillopt.state.ports import State
from skillopt.state.redis.archive import RedisArchive
from skillopt.state.redis.blobs import RedisBlobs
from skillopt.state.redis.board import RedisBoard
from skillopt.state.redis.budgets import RedisBudgets
from skillopt.state.redis.cache import RedisCache
from skillopt.state.redis.claims import RedisClaims
from skillopt.state.redis.dead import RedisDead
from skillopt.state.redis.doorbell import RedisDoorbell
from skillopt.state.redis.faults import translated
from skillopt.state.redis.fleet import RedisFleet
from skillopt.state.redis.limits import RedisSetLimits
from skillopt.state.redis.notices import RedisNotices
from skillopt.state.redis.quotas import RedisQuotas
from skillopt.state.redis.requests import RedisRequests
from skillopt.state.redis.results import RedisResults
from skillopt.state.redis.runs import RedisRuns
from skillopt.state.redis.scripts import Limits, Scripts
from skillopt.state.redis.server import RedisServerFacts
from skillopt.state.redis.shares import RedisShares
from skillopt.state.redis.spending import RedisSpending
from skillopt.state.redis.throttle import RedisThrottle
from skillopt.state.redis.tokens import RedisTokens
from skillopt.state.urls import queue_url, state_url

#: A half-open connection is noticed after this long; blocking reads stay well below it. TCP
#: keepalive is on by default, and not an option of unix sockets.
SOCKET_TIMEOUT_S: Final = 15
CONNECT_TIMEOUT_S: Final = 5
#: An idle connection is tried out before it is used again.
HEALTH_CHECK_S: Final = 10
#: One connection per thread in a call; more threads than this is a mistake.
MAX_CONNECTIONS: Final = 1024
#: Quick repetitions after a broken connection, which cover a pooled connection that went stale
#: and a server restart of a moment. A timeout is not repeated: the caller knows better what
#: 15 lost seconds mean. Repeating is safe, as every operation is idempotent.
RETRIES: Final = 3
RETRY_BASE_S: Final = 0.05
RETRY_CAP_S: Final = 0.5


@dataclass(frozen=True)
class RedisState(State):
    """All ports on one connection pool. `close` it, or use it as a context manager.

    It may be shared by threads. A process made by fork gets its own connections on first use.
    """

    client: redis.Redis
    #: Connected to Celery's database, when something asks for its queues.
    broker: redis.Redis

    def check(self) -> None:
        """Ask the server for a sign of life; raises StateUnavailable if there is none in time."""
        with translated():
            self.client.ping()

    def close(self) -> None:
        """Close every connection; safe to repeat. A later call would connect again."""
        for client in (self.client, self.broker):
            client.close()
            client.connection_pool.disconnect()

    def __enter__(self) -> RedisState:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def connect(url: str, timing: Timing) -> RedisState:
    """Give the state behind a Redis URL (see `skillopt.state.urls`), on Redis 6.2 or later.

    Nothing is sent yet: a server that is away shows in the first call, as StateUnavailable. A URL
    that is not understood raises ConfigError.
    """
    client, broker = _client(state_url(url)), _client(queue_url(url))
    scripts = Scripts(client)
    limits = Limits.of(timing)
    return RedisState(
        board=RedisBoard(scripts, limits),
        claims=RedisClaims(scripts, limits),
        results=RedisResults(client, scripts, limits),
        blobs=RedisBlobs(client, limits),
        cache=RedisCache(client, scripts),
        runs=RedisRuns(client, scripts, limits),
        doorbell=RedisDoorbell(client, limits),
        budgets=RedisBudgets(client, scripts, limits),
        throttle=RedisThrottle(scripts, timing),
        fleet=RedisFleet(client, scripts, limits),
        server=RedisServerFacts(client, broker),
        dead=RedisDead(client, scripts, limits),
        requests=RedisRequests(client, limits),
        archive=RedisArchive(scripts),
        shares=RedisShares(client, scripts, limits),
        quotas=RedisQuotas(client, scripts),
        tokens=RedisTokens(client, scripts),
        limits=RedisSetLimits(client),
        spending=RedisSpending(client),
        notices=RedisNotices(client, scripts, limits),
        client=client,
        broker=broker,
    )


def _client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        protocol=2,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        health_check_interval=HEALTH_CHECK_S,
        max_connections=MAX_CONNECTIONS,
        retry=Retry(
            ExponentialWithJitterBackoff(base=RETRY_BASE_S, cap=RETRY_CAP_S),
            RETRIES,
            supported_errors=(RedisConnectionError,),
        ),
    )

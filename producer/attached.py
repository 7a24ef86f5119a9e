"""Getting at what runs left: at a shared Redis, or in a store, whether or not a run is going on."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from producer.embedded.lock import StoreLock
from producer.embedded.readers import reading
from producer.embedded.redis_server import RedisServer, ServerTiming, live_url
from producer.embedded.store import Store
from skillopt.config.runtime import timing
from skillopt.errors import (
    ConfigError,
    SkillOptError,
    StateError,
    StateUnavailable,
    StoreBusy,
)
from skillopt.state.ports import State
from skillopt.state.redis.connect import RedisState, connect
from skillopt.state.urls import redacted, state_url

POLL_S = 0.1
#: How long a store that another command is just opening or closing is waited for.
PATIENCE_S = 20.0
#: A command that only reads can stay a little longer for others that use its server.
FOR_READERS = ServerTiming(readers_s=30.0)


@contextmanager
def attached(
    redis: str | None, store: Path, *, command: str = "skillopt (reading)", create: bool = False
) -> Iterator[State]:
    """Give the state at a Redis URL; without one, that of a store.

    A store's Redis that a run (or another reading command) has started is used with it; on an
    idle store one is started, and ended with the block, also if this process is killed. A reading
    command creates no store; with `create`, one that is not there, or has lost its data, is laid
    out. `command` is shown to whoever finds the store in use.

    Raises StateUnavailable if the Redis at the URL does not answer, ConfigError if the store
    cannot be read, StoreBusy if another command keeps it without running a Redis in it.
    """
    if redis is not None:
        with connect(redis, timing(os.environ)) as state:
            _check_shared(state, redis)
            yield state
        return
    found = Store.open(store) if create else _existing(store)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with _running(found, deadline) as (_, running):
            if running is not None:
                yield running
                return
        lock = _lock(found, command, deadline)
        if lock is not None:
            with (
                lock,
                RedisServer.start(lock, timing=FOR_READERS) as server,
                _embedded(server.url) as state,
            ):
                yield state
            return
        time.sleep(POLL_S)


@dataclass(frozen=True)
class Reached:
    """Where the state is, and the state unless there is a problem; no URL: no server runs."""

    url: str | None = None
    embedded: bool = False
    state: State | None = None
    problem: SkillOptError | None = None


@contextmanager
def reached(redis: str | None, store: Path) -> Iterator[Reached]:
    """Give the state at a URL; without one, that of the store if some command runs its Redis now.

    Nothing is started and no store is made. Raises ConfigError for a URL that is not usable;
    every other problem is part of what is given.
    """
    if redis is not None:
        state_url(redis)
    with ExitStack() as opened:
        try:
            if redis is not None:
                state: State | None = opened.enter_context(attached(redis, store))
                found = Reached(redis, embedded=False, state=state)
            else:
                deadline = time.monotonic() + PATIENCE_S
                url, state = opened.enter_context(_running(Store(store.resolve()), deadline))
                found = Reached(url, embedded=True, state=state)
        except SkillOptError as problem:
            found = Reached(redis, embedded=redis is None, problem=problem)
        except OSError as problem:
            found = Reached(redis, embedded=redis is None, problem=StateError(str(problem)))
        yield found


@contextmanager
def _running(store: Store, deadline: float) -> Iterator[tuple[str, State] | tuple[None, None]]:
    """Give where the Redis is that some command runs on a store now, and its state.

    It is not stopped meanwhile.
    """
    with ExitStack() as opened:
        url = live_url(store)
        if url is not None:
            # Counted, then looked at again: a server that is found now waits for us at its end.
            opened.enter_context(reading(store, wait_s=PATIENCE_S))
            url = live_url(store)
        if url is not None:
            state = opened.enter_context(_embedded(url))
            if _answers(state, deadline):
                yield url, state
                return
        yield None, None


def _existing(path: Path) -> Store:
    """Give a store that has data of its own; raises ConfigError if there is none."""
    where = repr(str(path))
    if not path.is_dir():
        raise ConfigError(
            f"there is no store {where}; name the store of a run with --store DIR, or its shared "
            "Redis with --redis URL"
        )
    store = Store(path.resolve())
    if not (store.redis_dir / "server-version").exists():
        raise ConfigError(
            f"store {where} has no Redis data of its own: its runs, if any, used a shared Redis; "
            "name that with --redis URL, or another store with --store DIR"
        )
    return store


def _embedded(url: str) -> RedisState:
    return connect(url, timing({"SKILLOPT_TIMING": "embedded", **os.environ}))


def _answers(state: RedisState, deadline: float) -> bool:
    """Wait until a server is ready: it may be reading its data back. False if it has gone."""
    while True:
        try:
            state.check()
        except StateUnavailable as error:
            if "LOADING" not in str(error):
                return False
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_S)
        else:
            return True


def _lock(store: Store, command: str, deadline: float) -> StoreLock | None:
    """Lock the store; None if another command holds it and may yet bring its Redis up."""
    try:
        return StoreLock.acquire(store, command=command, brief=True, wait_s=POLL_S)
    except StoreBusy as error:
        if time.monotonic() > deadline:
            raise StoreBusy(
                f"{error}. It runs no Redis in this store: if it works on a shared one, name "
                "that with --redis URL"
            ) from error
        return None


def _check_shared(state: RedisState, url: str) -> None:
    shown = repr(redacted(url))
    try:
        state.check()
    except StateUnavailable as error:
        raise StateUnavailable(
            f"the Redis at {shown} cannot be used: {error.__cause__ or error}; start it, or "
            "correct --redis (SKILLOPT_REDIS_URL), or leave it out to read a store"
        ) from error
    except StateError as error:
        raise StateError(
            f"the Redis at {shown} refuses us: {error.__cause__ or error}; correct --redis "
            "(SKILLOPT_REDIS_URL): its database number plus 2 must exist, and its user may need "
            "a password"
        ) from error

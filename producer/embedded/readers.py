"""Who is reading from a store's Redis that another command started: its end waits for them."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from producer.embedded.store import Store

POLL_S = 0.02


@contextmanager
def reading(store: Store, *, wait_s: float) -> Iterator[None]:
    """Be counted as a reader: a server found meanwhile is not stopped for a while.

    A server that is just being stopped is waited for, so that what is found afterwards stays.
    """
    with _locked(store, fcntl.LOCK_SH, wait_s):
        yield


@contextmanager
def without_readers(store: Store, *, wait_s: float) -> Iterator[None]:
    """Wait for the present readers and keep new ones out; after `wait_s` go on regardless."""
    with _locked(store, fcntl.LOCK_EX, wait_s):
        yield


@contextmanager
def _locked(store: Store, kind: int, wait_s: float) -> Iterator[None]:
    path = store.redis_dir / "readers"
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # the store was removed under its server: nobody finds it any more
        yield
        return
    try:
        limit = time.monotonic() + wait_s
        while not _try(fd, kind) and time.monotonic() < limit:
            time.sleep(POLL_S)
        yield
    finally:
        os.close(fd)


def _try(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

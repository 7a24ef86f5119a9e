"""One command at a time works in a store."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from datetime import UTC, datetime
from types import TracebackType

from pydantic import BaseModel, ConfigDict, ValidationError

from producer.embedded.process_identity import is_alive, start_ticks
from producer.embedded.store import Store
from skillopt.errors import ConfigError, StoreBusy

POLL_S = 0.05
#: A holder that was just killed is still there for a moment.
DYING_S = 0.3


class LockHolder(BaseModel):
    """Who holds the store, as written into the lock file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    command: str
    host: str
    started: datetime
    #: Start of the process in clock ticks since boot; tells it from a later one of that number.
    start_ticks: int | None = None
    #: It only looks something up: whoever comes next waits for it instead of giving up.
    brief: bool = False

    @classmethod
    def this_process(cls, command: str, *, brief: bool = False) -> LockHolder:
        pid = os.getpid()
        return cls(
            pid=pid,
            command=command,
            host=socket.gethostname(),
            started=datetime.now(UTC).replace(microsecond=0),
            start_ticks=start_ticks(pid),
            brief=brief,
        )

    def may_be_alive(self) -> bool:
        """False only if the process certainly is gone; another host cannot be asked."""
        if self.host != socket.gethostname():
            return True
        return is_alive(self.pid, self.start_ticks)


class StoreLock:
    """The exclusive use of a store, from `acquire` to `release`.

    The lock belongs to the open file, not to the process: whoever inherits `fd` keeps the store
    locked. The Redis guard does, so the store is free only once its Redis is gone.
    """

    def __init__(self, fd: int, store: Store) -> None:
        self._fd: int | None = fd
        self.store = store

    @classmethod
    def acquire(
        cls, store: Store, *, command: str, brief: bool = False, wait_s: float = 15.0
    ) -> StoreLock:
        """Lock the store; `command` is shown to whoever finds it locked.

        Raises StoreBusy without waiting if the holder is alive, unless it is a brief one. That,
        and the guards of a holder that died, which are still ending its children, are given
        `wait_s` to finish.
        """
        fd = _open(store)
        try:
            began = time.monotonic()
            while not _try_lock(fd):
                holder = _read_holder(fd)
                waited = time.monotonic() - began
                if holder is not None and holder.may_be_alive():
                    if waited >= (wait_s if holder.brief else DYING_S):
                        raise StoreBusy(_busy_text(store, holder))
                elif waited >= wait_s:
                    raise StoreBusy(_stuck_text(store, holder, wait_s))
                time.sleep(POLL_S)
            _write(fd, LockHolder.this_process(command, brief=brief).model_dump_json().encode())
        except BaseException:
            os.close(fd)
            raise
        return cls(fd, store)

    @property
    def fd(self) -> int:
        if self._fd is None:
            raise ValueError(f"the lock of store {str(self.store.root)!r} was released")
        return self._fd

    def release(self) -> None:
        """Give the store up. Idempotent.

        Closing is all: an explicit unlock would also take it from a guard that still holds it.
        """
        if self._fd is not None:
            _write(self._fd, b"")
            os.close(self._fd)
            self._fd = None

    def __enter__(self) -> StoreLock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def holder_of(store: Store) -> LockHolder | None:
    """Say who uses a store now, without locking it; None if nobody (or nobody readable) does."""
    try:
        holder = LockHolder.model_validate_json(store.lock_path.read_bytes())
    except (OSError, ValidationError):
        return None
    return holder if holder.may_be_alive() else None


def _open(store: Store) -> int:
    try:
        return os.open(store.lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ConfigError(
            f"lock file {str(store.lock_path)!r} cannot be opened ({error.strerror}): "
            "make it yours or use another --store"
        ) from error


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read_holder(fd: int) -> LockHolder | None:
    """The recorded holder; None while it is being written or if it is not ours to read."""
    try:
        return LockHolder.model_validate_json(os.pread(fd, 65536, 0))
    except ValidationError:
        return None


def _write(fd: int, content: bytes) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, content, 0)


def _busy_text(store: Store, holder: LockHolder) -> str:
    where = "" if holder.host == socket.gethostname() else f" on host {holder.host!r}"
    return (
        f"store {str(store.root)!r} is in use by process {holder.pid}{where}, {holder.command!r}, "
        f"since {holder.started.isoformat()}: wait for it, stop it, or use another --store"
    )


def _stuck_text(store: Store, holder: LockHolder | None, wait_s: float) -> str:
    who = (
        "an unknown command" if holder is None else f"{holder.command!r} (pid {holder.pid}, ended)"
    )
    return (
        f"store {str(store.root)!r} is still locked by what {who} left running, after waiting "
        f"{wait_s:g} s: try again in a moment, or use another --store"
    )

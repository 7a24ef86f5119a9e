"""The private Redis server of a store."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote

from producer.embedded.lock import StoreLock
from producer.embedded.logs import indented, last_lines, size_of
from producer.embedded.readers import without_readers
from producer.embedded.redis_binary import RedisBinary, find_redis_binary
from producer.embedded.redis_probe import LOADING, PONG, ping
from producer.embedded.server_version import claim_version
from producer.embedded.socket_folder import check_folder, prepare_folder, socket_path
from producer.embedded.stale_server import end_stale_server
from producer.embedded.store import Store
from skillopt.errors import EmbeddedError
from skillopt.guarded import GuardedProcess, GuardTerms, exit_in_words

POLL_S = 0.02
LOG_LINES = 10

#: The server needs no secret of ours, so it gets none.
PASSED_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ", "TMPDIR")


@dataclass(frozen=True)
class ServerTiming:
    """Durations in seconds."""

    #: Until the first answer; reading a large store back may take any time after that.
    startup_s: float = 30.0
    #: After the owner's death, so that its clients can finish: a little more than their grace.
    linger_s: float = 6.0
    #: From SIGTERM to SIGKILL.
    grace_s: float = 10.0
    #: How long a stop waits for commands that are reading from the server.
    readers_s: float = 5.0


class RedisServer:
    """A Redis server on a Unix socket whose data is in the store and survives it.

    Every write is on disk before it is answered. The server is gone when its owner is, after a
    moment for its clients: it lingers until no process holds `clients_fd` any more.
    """

    def __init__(self, lock: StoreLock, binary: RedisBinary, timing: ServerTiming) -> None:
        self.store = lock.store
        self.binary = binary
        self.socket = socket_path(lock.store)
        self._lock = lock
        self._timing = timing
        self._process: GuardedProcess | None = None
        self._log_start = 0
        self._clients_read, self.clients_fd = os.pipe()

    @classmethod
    def start(
        cls,
        lock: StoreLock,
        *,
        binary: RedisBinary | None = None,
        timing: ServerTiming = ServerTiming(),
    ) -> RedisServer:
        """Start the server of the locked store and wait until it answers.

        Raises EmbeddedError, with the end of the server's log, if it does not come up.
        """
        server = cls(lock, binary or find_redis_binary(), timing)
        try:
            server.launch()
            server._wait_until_ready()
        except BaseException:
            server.stop()
            raise
        return server

    @property
    def url(self) -> str:
        return url_of(self.socket)

    @property
    def log_path(self) -> Path:
        return self.store.redis_dir / "redis.log"

    @property
    def process(self) -> GuardedProcess:
        if self._process is None:
            raise ValueError(f"the Redis server of {str(self.store.root)!r} is not started")
        return self._process

    def launch(self) -> GuardedProcess:
        """Start the server process, also in place of one that ended; does not wait for it."""
        prepare_folder(self.socket.parent)
        end_stale_server(self.store.redis_dir / "redis.pid", self.socket)
        claim_version(self.store.redis_dir / "server-version", self.binary)
        _location_file(self.store).write_text(str(self.socket), encoding="utf-8")
        self._log_start = size_of(self.log_path)
        with self.log_path.open("ab") as log:
            self._process = GuardedProcess.start(
                self._argv(),
                env={key: os.environ[key] for key in PASSED_ENVIRONMENT if key in os.environ},
                stdout=log,
                stderr=subprocess.STDOUT,
                terms=GuardTerms(
                    grace_s=self._timing.grace_s,
                    linger_s=self._timing.linger_s,
                    linger_until_fd=self._clients_read,
                    hold_fds=(self._lock.fd,),
                ),
            )
        return self._process

    def stop(self) -> None:
        """End the server and remove its socket. Idempotent."""
        if self._process is not None:
            running = self._process.poll() is None
            with without_readers(self.store, wait_s=self._timing.readers_s if running else 0):
                if running:
                    self._process.stop(self._timing.grace_s)
                self._remove_traces()
        if self.clients_fd >= 0:
            os.close(self._clients_read)
            os.close(self.clients_fd)
            self._clients_read = self.clients_fd = -1

    def __enter__(self) -> RedisServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _remove_traces(self) -> None:
        self.socket.unlink(missing_ok=True)
        _location_file(self.store).unlink(missing_ok=True)
        with suppress(OSError):  # not empty, or removed before: a leftover folder is harmless
            self.socket.parent.rmdir()

    def _argv(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self.socket),
            "unixsocketperm": "700",
            "dir": str(self.store.redis_dir),
            "pidfile": str(self.store.redis_dir / "redis.pid"),
            "logfile": str(self.log_path),
            "daemonize": "no",
            "appendonly": "yes",
            "appendfsync": "always",
            "aof-load-truncated": "yes",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        pairs = [(f"--{name}", value) for name, value in options.items()]
        return [str(self.binary.path), *(word for pair in pairs for word in pair)]

    def _wait_until_ready(self) -> None:
        limit = time.monotonic() + self._timing.startup_s
        while True:
            answer = ping(self.socket)
            if answer == PONG:
                return
            code = self.process.poll()
            if code is not None:
                raise self._failure(f"ended while starting: {exit_in_words(code)}")
            if answer is not None and not answer.startswith(LOADING):
                raise self._failure(f"answers {answer!r}")
            if answer is None and time.monotonic() > limit:
                raise self._failure(f"does not answer within {self._timing.startup_s:g} s")
            time.sleep(POLL_S)

    def _failure(self, what: str) -> EmbeddedError:
        lines = last_lines(self.log_path, LOG_LINES, since=self._log_start)
        return EmbeddedError(
            f"Redis server {str(self.binary.path)!r} {what}. Repair what its log says, use another "
            f"--store, or a running Redis with --redis URL. End of {str(self.log_path)!r}:\n"
            f"{indented(lines)}"
        )


def url_of(socket: Path) -> str:
    return f"unix://{quote(str(socket))}?db=0"


def live_url(store: Store) -> str | None:
    """The URL of the server that some command runs on this store now; None if there is none."""
    try:
        socket = Path(_location_file(store).read_text(encoding="utf-8"))
        check_folder(socket.parent)
    except FileNotFoundError:
        return None
    return None if ping(socket) is None else url_of(socket)


def _location_file(store: Store) -> Path:
    return store.redis_dir / "socket-path"

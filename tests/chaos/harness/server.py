"""The Redis of the fleet: every write on disk before it is answered, killed and started at will."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import redis

from producer.embedded.redis_binary import find_redis_binary
from skillopt.state.urls import STATE_DB_OFFSET

STARTUP_S = 20.0


class Server:
    """One Redis on a unix socket. Its append-only file is never rewritten: it is the record of
    every write since the beginning.
    """

    def __init__(self, folder: Path, socket: Path, env: dict[str, str]) -> None:
        self.socket = socket
        self.aof = folder / "appendonly.aof"
        self._log = folder / "redis.log"
        self._env = env
        options = {
            "port": "0",
            "unixsocket": str(socket),
            "dir": str(folder),
            "appendonly": "yes",
            "appendfsync": "always",
            "auto-aof-rewrite-percentage": "0",
            "save": "",
            "maxmemory-policy": "noeviction",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        self._argv = [str(find_redis_binary().path), *words]
        self._process: subprocess.Popen[bytes] | None = None
        self.broker = self._client(0)
        self.state = self._client(STATE_DB_OFFSET)

    @property
    def url(self) -> str:
        return url_of(self.socket)

    def start(self) -> None:
        """Start the server, if it does not run, and wait until it answers."""
        if self._process is not None and self._process.poll() is None:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._argv, env=self._env, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + STARTUP_S
        while True:
            try:
                self.state.ping()
            except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
                assert self._process.poll() is None, self._log.read_text()[-1500:]
                assert time.monotonic() < deadline, "redis-server does not answer"
                time.sleep(0.02)
            else:
                return

    def kill(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def stop(self) -> None:
        for client in (self.broker, self.state):
            client.close()
        if self._process is not None:
            self._process.terminate()
            self._process.wait(20)

    def limit_memory(self, size: int) -> None:
        """Refuse what takes more memory than this; 0 lifts the limit."""
        self.state.config_set("maxmemory", size)

    def _client(self, database: int) -> redis.Redis:
        return redis.Redis(
            unix_socket_path=str(self.socket), db=database, decode_responses=True, socket_timeout=10
        )


def url_of(socket: Path) -> str:
    return f"unix://{socket}?db=0"

"""Looking everywhere at once: command lines, environments, every Redis command, every file."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis

_LOOK_S = 0.05


class ProcessWatch:
    """Collects the command lines and environments of every process below this one."""

    def __init__(self) -> None:
        #: By process and command line: a process changes both when it becomes another program.
        self.command_lines: dict[str, bytes] = {}
        self.environments: dict[str, bytes] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ProcessWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_S):
            for pid in _descendants(os.getpid()):
                try:
                    line = Path(f"/proc/{pid}/cmdline").read_bytes()
                    environment = Path(f"/proc/{pid}/environ").read_bytes()
                except OSError:
                    continue  # it ended meanwhile
                shown = f"{pid} {line.replace(bytes(1), b' ').decode(errors='replace')}"
                self.command_lines[shown] = line
                self.environments[shown] = environment


def _descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it ended meanwhile
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        children = [pid for pid, above in parents.items() if above == parent]
        found += children
        waiting += children
    return found


class Monitor:
    """Hears every command that a Redis server executes, from when it can be reached."""

    def __init__(
        self, path: Path | None = None, *, named_in: Path | None = None, password: str = ""
    ) -> None:
        """The server's socket, or a file in which its path will stand."""
        self._path, self._named_in = path, named_in
        self._password = password
        self._heard: list[bytes] = []
        self._stop = threading.Event()
        self._connection: socket.socket | None = None
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Monitor:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._connection is not None:
            with suppress(OSError):  # the server has closed it
                self._connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    @property
    def heard(self) -> bytes:
        return b"".join(self._heard)

    def _listen(self) -> None:
        connection = self._connected()
        if connection is None:
            return
        with connection:
            if self._password:
                connection.sendall(_command("AUTH", self._password))
            connection.sendall(_command("MONITOR"))
            while part := connection.recv(1 << 20):
                self._heard.append(part)

    def _connected(self) -> socket.socket | None:
        while not self._stop.is_set():
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self._path or self._named()))
            except OSError:
                connection.close()
                time.sleep(0.01)
                continue
            self._connection = connection
            return connection
        return None

    def _named(self) -> str:
        assert self._named_in is not None
        return self._named_in.read_text()


def _command(*words: str) -> bytes:
    parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
    return f"*{len(words)}\r\n{''.join(parts)}".encode()


def dumped(client_of: Any) -> dict[str, bytes]:
    """Give every value of every database of a server, by its key."""
    found: dict[str, bytes] = {}
    with client_of(0) as first:
        databases = int(first.config_get("databases")["databases"])
        found["slow log"] = repr(first.slowlog_get(1000)).encode()
    for number in range(databases):
        with client_of(number) as client:
            for key in client.scan_iter(count=1000):
                found[f"db {number} {key!r}"] = key + b"\n" + _value(client, key)
    return found


def _value(client: redis.Redis, key: bytes) -> bytes:
    readers: dict[bytes, Any] = {
        b"string": client.get,
        b"hash": lambda name: _flat(client.hgetall(name).items()),
        b"list": lambda name: _flat([client.lrange(name, 0, -1)]),
        b"set": lambda name: _flat([client.smembers(name)]),
        b"zset": lambda name: _flat([client.zrange(name, 0, -1)]),
        b"stream": lambda name: _flat(
            pair for _, fields in client.xrange(name) for pair in fields.items()
        ),
    }
    return readers[client.type(key)](key) or b""


def _flat(rows: Any) -> bytes:
    return b"\n".join(part for row in rows for part in row)


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@contextmanager
def redis_with_password(binary: Path, folder: Path, password: str) -> Iterator[Path]:
    """Start a Redis that asks for a password; gives the path of its socket."""
    path, config = folder / "r.sock", folder / "redis.conf"
    config.write_text(
        f'port 0\nunixsocket {path}\nunixsocketperm 700\nrequirepass "{password}"\nsave ""\n'
        f"dir {folder}\n"
    )
    server = subprocess.Popen([binary, config], stdout=subprocess.DEVNULL, env={})
    try:
        with redis.Redis(unix_socket_path=str(path), password=password) as client:
            _wait_for(client, server)
        yield path
    finally:
        server.terminate()
        server.wait(timeout=10)


def _wait_for(client: redis.Redis, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while True:
        try:
            client.ping()
        except redis.ConnectionError:
            assert server.poll() is None and time.monotonic() < until, "redis-server did not start"
            time.sleep(0.02)
        else:
            return

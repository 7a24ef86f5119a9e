"""A Redis of a test's own, with the settings it asks for."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from producer.embedded.redis_binary import find_redis_binary


@contextmanager
def redis_on_a_port(*settings: str, password: str | None = None) -> Iterator[str]:
    """Start a server on loopback; gives its URL (with the password), and ends it by its id."""
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [find_redis_binary().path, "--port", str(port), "--bind", "127.0.0.1"]
    command += ["--dir", folder, "--save", "", *settings]
    command += ["--requirepass", password] if password else []
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        with redis.Redis(port=port, password=password) as client:
            _wait_for_answer(client, server)
        login = f":{password}@" if password else ""
        yield f"redis://{login}127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(timeout=10)
        shutil.rmtree(folder)


def _wait_for_answer(client: redis.Redis, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            client.ping()
        except redis.ConnectionError:
            assert server.poll() is None, "redis-server ended"
            assert time.monotonic() < deadline, "redis-server does not answer"
            time.sleep(0.02)
        else:
            return

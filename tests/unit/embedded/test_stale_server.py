from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from embedded_processes import eventually

from producer.embedded.redis_binary import find_redis_binary
from producer.embedded.redis_probe import PONG, ping
from producer.embedded.stale_server import end_stale_server
from skillopt.errors import EmbeddedError

Launch = Callable[[Path], subprocess.Popen[bytes]]


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        yield Path(folder) / "r.sock"


@pytest.fixture
def launch(tmp_path: Path, socket: Path) -> Iterator[Launch]:
    """Start a server without a guard, working in a folder; ended after the test."""
    servers: list[subprocess.Popen[bytes]] = []

    def start(folder: Path) -> subprocess.Popen[bytes]:
        options = {"port": "0", "unixsocket": socket, "dir": folder, "save": ""}
        options["pidfile"] = folder / "redis.pid"
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        server = subprocess.Popen(
            [str(find_redis_binary().path), *words], stdout=subprocess.DEVNULL
        )
        servers.append(server)
        eventually(lambda: ping(socket) == PONG, "the server answers")
        eventually((folder / "redis.pid").exists, "the server has its pid file")
        return server

    yield start
    for server in servers:
        server.kill()
        server.wait()


def test_server_of_a_dead_owner_is_ended_and_its_traces_are_gone(tmp_path, socket, launch):
    server = launch(tmp_path)
    end_stale_server(tmp_path / "redis.pid", socket)
    assert server.wait(20) == 0
    assert not socket.exists()
    assert not (tmp_path / "redis.pid").exists()


def test_server_that_ignores_term_is_killed(tmp_path, socket, launch):
    server = launch(tmp_path)
    subprocess.run(["kill", "-STOP", str(server.pid)], check=True)
    end_stale_server(tmp_path / "redis.pid", socket, grace_s=0.1)
    assert server.wait(20) == -9


def test_server_found_by_pid_file_is_ended_although_it_listens_elsewhere(tmp_path, socket, launch):
    """The temporary folder may have been another one when that server was started."""
    server = launch(tmp_path)
    end_stale_server(tmp_path / "redis.pid", socket.with_name("other.sock"))
    assert server.wait(20) == 0


def test_process_that_reuses_the_recorded_number_is_left_alone(tmp_path, socket):
    other = subprocess.Popen([sys.executable, "-I", "-S", "-c", "import time; time.sleep(100)"])
    try:
        (tmp_path / "redis.pid").write_text(f"{other.pid}\n")
        end_stale_server(tmp_path / "redis.pid", socket)
        assert other.poll() is None
        assert not (tmp_path / "redis.pid").exists()
    finally:
        other.kill()
        other.wait()


def test_server_of_another_folder_is_named_and_kept(tmp_path, socket, launch):
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    server = launch(tmp_path / "theirs")
    (tmp_path / "ours" / "redis.pid").write_text(f"{server.pid}\n")
    with pytest.raises(EmbeddedError, match=r"not ours to stop .*r\.sock.*--store"):
        end_stale_server(tmp_path / "ours" / "redis.pid", socket)
    assert server.poll() is None
    assert ping(socket) == PONG


@pytest.mark.parametrize("content", ["", "not a number", "0", "-1", "999999999"])
def test_pid_file_that_names_nobody_is_cleared(tmp_path, socket, content):
    (tmp_path / "redis.pid").write_text(content)
    end_stale_server(tmp_path / "redis.pid", socket)
    assert not (tmp_path / "redis.pid").exists()

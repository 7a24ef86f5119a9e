from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from producer.embedded.child import ChildSpec, RestartRule
from producer.embedded.lock import StoreLock
from producer.embedded.redis_binary import RedisBinary, find_redis_binary
from producer.embedded.redis_server import RedisServer, ServerTiming, live_url
from producer.embedded.socket_folder import socket_path
from producer.embedded.store import Store
from producer.embedded.supervisor import Death, Supervisor
from skillopt.errors import EmbeddedError, StoreBusy

OWNER = """
import sys, time
from pathlib import Path
from producer.embedded.child import ChildSpec
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer, ServerTiming
from producer.embedded.store import Store
from producer.embedded.supervisor import Supervisor, StopRule
store = Store.open(Path(sys.argv[1]))
lock = StoreLock.acquire(store, command="skillopt run owner.yaml")
server = RedisServer.start(lock, timing=ServerTiming(linger_s=float(sys.argv[2])))
supervisor = Supervisor(server, stop=StopRule(orphan_grace_s=20))
if len(sys.argv) > 3:
    argv = (sys.executable, "-I", "-S", "-c", sys.argv[3], str(server.socket))
    supervisor.start(ChildSpec("client", argv, {}, store.root / "client.log"))
    supervisor.process("client").child_pid()
print(server.process.child_pid(), server.process.pid, flush=True)
time.sleep(100)
"""

#: A client that answers SIGTERM by a late last write, which a stopped server could not take.
CLIENT = """
import os, signal, socket, sys, time
def end(*_):
    time.sleep(0.3)
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(sys.argv[1])
    connection.sendall(b"SET last word\\r\\n")
    os._exit(0 if connection.recv(9) == b"+OK\\r\\n" else 1)
signal.signal(signal.SIGTERM, end)
print("up", flush=True)
while True:
    time.sleep(0.05)
"""


def eventually(holds: Callable[[], bool], what: str, limit_s: float = 30.0) -> None:
    limit = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < limit, f"not within {limit_s} s: {what}"
        time.sleep(0.02)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


@pytest.fixture(autouse=True)
def short_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder for sockets, for owners too; `tmp_path` first, lest pytest settles in it."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "a store")


@pytest.fixture
def lock(store: Store) -> Iterator[StoreLock]:
    with StoreLock.acquire(store, command="test") as lock:
        yield lock


@pytest.fixture
def run_owner(store: Store) -> Iterator[Callable[..., tuple[subprocess.Popen[bytes], int, int]]]:
    owners: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> tuple[subprocess.Popen[bytes], int, int]:
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(store.root), *arguments], stdout=subprocess.PIPE
        )
        owners.append(owner)
        assert owner.stdout is not None
        server, guard = (int(word) for word in owner.stdout.readline().split())
        return owner, server, guard

    yield start
    for owner in owners:
        owner.kill()
        owner.wait()
        assert owner.stdout is not None
        owner.stdout.close()


def client(server: RedisServer) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


def put(server: RedisServer, key: str, value: str) -> None:
    with client(server) as connection:
        assert connection.set(key, value)


def get(server: RedisServer, key: str) -> object:
    with client(server) as connection:
        return connection.get(key)


def test_server_answers_with_the_durable_settings(lock):
    with RedisServer.start(lock) as server, client(server) as connection:
        assert connection.ping()
        wanted = {
            "port": "0",
            "appendonly": "yes",
            "appendfsync": "always",
            "save": "",
            "maxmemory-policy": "noeviction",
            "aof-load-truncated": "yes",
        }
        assert {name: connection.config_get(name)[name] for name in wanted} == wanted
        assert server.socket.stat().st_mode & 0o777 == 0o700
        assert server.socket.parent.stat().st_mode & 0o777 == 0o700


def test_data_survives_a_restart_and_the_socket_does_not(lock):
    with RedisServer.start(lock) as server:
        put(server, "key", "value")
        pid = server.process.child_pid()
    assert not is_running(pid or 0)
    assert not server.socket.parent.exists()
    with RedisServer.start(lock) as again:
        assert get(again, "key") == "value"


def test_live_url_finds_the_server_only_while_it_runs(store, lock):
    assert live_url(store) is None
    with RedisServer.start(lock) as server:
        assert live_url(store) == server.url
    assert live_url(store) is None


def test_owner_killed_takes_the_server_along_and_the_data_stays(store, run_owner):
    owner, server_pid, guard_pid = run_owner("0.2")
    url = live_url(store)
    assert url is not None
    with redis.Redis.from_url(url) as connection:
        connection.set("key", "value")
    owner.kill()
    eventually(lambda: not is_running(server_pid), "the server is gone")
    eventually(lambda: not is_running(guard_pid), "its guard is gone")
    with (
        StoreLock.acquire(store, command="again") as lock,
        RedisServer.start(lock) as server,
    ):
        assert get(server, "key") == "value"


def test_lock_waits_until_a_dead_owners_server_has_stopped(store, run_owner):
    owner, server_pid, _ = run_owner("90", CLIENT)
    eventually(lambda: (store.root / "client.log").read_text() == "up\n", "the client is up")
    with pytest.raises(StoreBusy, match=rf"process {owner.pid}, 'skillopt run owner.yaml'"):
        StoreLock.acquire(store, command="second", wait_s=60)
    owner.kill()
    # Far below the linger time: the server waits for its clients, and no longer.
    with StoreLock.acquire(store, command="second", wait_s=60) as lock:
        assert not is_running(server_pid)
        with RedisServer.start(lock) as server:
            assert get(server, "last") == "word"


def test_killed_guard_takes_the_server_along(lock):
    with RedisServer.start(lock) as server:
        pid = server.process.child_pid()
        assert pid is not None
        os.kill(server.process.pid, signal.SIGKILL)
        eventually(lambda: not is_running(pid), "the server is gone")


def test_supervisor_starts_a_killed_server_again_with_its_data(store, lock):
    deaths: list[Death] = []
    server = RedisServer.start(lock)
    with Supervisor(server, restart=RestartRule(first_delay_s=0.01)) as supervisor:
        put(server, "key", "value")
        first = server.process.child_pid()
        assert first is not None
        os.kill(first, signal.SIGKILL)
        eventually(lambda: bool(deaths.extend(supervisor.poll()) or deaths), "the death is seen")
        eventually(lambda: supervisor.poll() == [] and live_url(store) is not None, "it is back")
        eventually(lambda: get(server, "key") == "value", "the data is back")
        second = supervisor.process("redis").child_pid()
    assert deaths == [Death("redis", 137)]
    assert second not in (None, first)
    assert not is_running(int(second or 0))


def test_supervisor_stops_the_server_after_its_clients(store, lock):
    server = RedisServer.start(lock)
    log = store.root / "client.log"
    with Supervisor(server) as supervisor:
        argv = (sys.executable, "-I", "-S", "-c", CLIENT, str(server.socket))
        supervisor.start(ChildSpec("client", argv, {}, log))
        eventually(lambda: log.read_text() == "up\n", "the client is up")
    assert supervisor.process("client").poll() == 0
    assert server.process.poll() == 0
    with RedisServer.start(lock) as again:
        assert get(again, "last") == "word"


def test_leftover_socket_and_pid_file_do_not_disturb(store, lock):
    path = socket_path(store)
    path.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    (store.redis_dir / "redis.pid").write_text("999999999\n")
    with RedisServer.start(lock) as server, client(server) as connection:
        assert connection.ping()


def test_truncated_tail_of_the_log_loads(store, lock):
    with RedisServer.start(lock) as server:
        put(server, "kept", "1")
        put(server, "cut", "2")
    (aof,) = [file for file in store.redis_dir.rglob("*.aof") if file.stat().st_size]
    os.truncate(aof, aof.stat().st_size - 3)
    with RedisServer.start(lock) as server:
        assert (get(server, "kept"), get(server, "cut")) == ("1", None)


def test_start_failure_shows_the_end_of_the_servers_log(store, lock):
    with RedisServer.start(lock) as server:
        put(server, "key", "value" * 50)
    (aof,) = [file for file in store.redis_dir.rglob("*.aof") if file.stat().st_size]
    aof.write_bytes(b"garbage\r\n" + aof.read_bytes())
    with pytest.raises(EmbeddedError, match=r"(?s)ended while starting.*redis\.log'.*file format"):
        RedisServer.start(lock)
    assert not socket_path(store).parent.exists()


def test_server_that_never_answers_is_an_error(lock, tmp_path):
    script = tmp_path / "sleeper"
    script.write_text(
        f"#!{sys.executable}\nimport time\nprint('zzz', flush=True)\ntime.sleep(100)\n"
    )
    script.chmod(0o700)
    with pytest.raises(EmbeddedError, match=r"(?s)does not answer within 0\.3 s.*zzz"):
        RedisServer.start(
            lock, binary=RedisBinary(script, (6, 2, 0)), timing=ServerTiming(startup_s=0.3)
        )


def test_older_server_is_not_started_on_a_newer_store(store, lock):
    (store.redis_dir / "server-version").write_text("99.1.2\n")
    with pytest.raises(EmbeddedError) as caught:
        RedisServer.start(lock)
    binary = find_redis_binary()
    assert "'99.1.2'" in str(caught.value)
    assert repr(".".join(map(str, binary.version))) in str(caught.value)
    assert "--store" in str(caught.value)
    assert not (store.redis_dir / "redis.log").exists()


def test_servers_of_two_stores_do_not_meet(tmp_path):
    stores = [Store.open(tmp_path / name) for name in "ab"]
    with (
        StoreLock.acquire(stores[0], command="a") as lock_a,
        StoreLock.acquire(stores[1], command="b") as lock_b,
        RedisServer.start(lock_a) as a,
        RedisServer.start(lock_b) as b,
    ):
        put(a, "key", "a")
        assert get(b, "key") is None


def test_server_gets_no_secret_from_the_environment(lock, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "s3cret")
    with RedisServer.start(lock) as server:
        pids = (server.process.pid, server.process.child_pid())
        assert not any(b"s3cret" in Path(f"/proc/{pid}/environ").read_bytes() for pid in pids)

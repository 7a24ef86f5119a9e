from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from producer.attached import attached
from producer.embedded.lock import StoreLock
from producer.embedded.redis_server import RedisServer, ServerTiming, live_url
from producer.embedded.store import Store
from skillopt.errors import ConfigError, StateUnavailable, StoreBusy
from skillopt.state.ports import State

READER = """
import sys
from pathlib import Path
from producer.attached import attached
with attached(None, Path(sys.argv[1])) as state:
    print(len(state.runs.all()), flush=True)
    sys.stdin.readline()
    print(len(state.runs.all()), flush=True)
"""


def eventually(holds: Callable[[], bool], what: str) -> None:
    limit = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < limit, f"not within 30 s: {what}"
        time.sleep(0.02)


@pytest.fixture(autouse=True)
def short_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store that a run has used: its Redis has data."""
    store = Store.open(tmp_path / "a store")
    with (
        StoreLock.acquire(store, command="test") as lock,
        RedisServer.start(lock),
        attached(None, store.root) as state,
    ):
        create_run(state, "first")
    return store


@pytest.fixture
def start_reader(store: Store) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    readers: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        reader = subprocess.Popen(
            [sys.executable, "-c", READER, str(store.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        readers.append(reader)
        return reader

    yield start
    for reader in readers:
        reader.kill()
        reader.communicate()


def create_run(state: State, run: str) -> None:
    assert state.runs.create(run, meta={}, events=[], status="running")


def runs_of(state: State) -> list[str]:
    return [info.run for info in state.runs.all()]


def first_line(reader: subprocess.Popen[str]) -> str:
    assert reader.stdout is not None
    return reader.stdout.readline()


def test_an_idle_store_is_read_and_left_idle(store: Store):
    with attached(None, store.root) as state:
        assert runs_of(state) == ["first"]
    assert live_url(store) is None
    StoreLock.acquire(store, command="next").release()


def test_a_run_in_the_store_is_joined_and_left_alone(store: Store):
    with StoreLock.acquire(store, command="skillopt run") as lock, RedisServer.start(lock) as run:
        with attached(None, store.root) as state:
            create_run(state, "second")
        assert run.process.poll() is None
        with attached(None, store.root) as state:
            assert sorted(runs_of(state)) == ["first", "second"]


def test_the_end_of_a_server_waits_for_its_readers(store: Store, start_reader):
    lock = StoreLock.acquire(store, command="skillopt run")
    server = RedisServer.start(lock, timing=ServerTiming(readers_s=60))
    reader = start_reader()
    assert first_line(reader) == "1\n"
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    out, _ = reader.communicate("\n")
    stopping.join(timeout=30)
    lock.release()
    assert (reader.returncode, out) == (0, "1\n")
    assert not stopping.is_alive()
    assert live_url(store) is None


def test_a_server_does_not_wait_for_ever_for_a_reader_that_hangs(store: Store, start_reader):
    with StoreLock.acquire(store, command="skillopt run") as lock:
        server = RedisServer.start(lock, timing=ServerTiming(readers_s=0.1))
        reader = start_reader()
        assert first_line(reader) == "1\n"
        server.stop()
        assert live_url(store) is None


def test_many_readers_of_an_idle_store_at_once_all_succeed(store: Store, start_reader):
    readers = [start_reader() for _ in range(4)]
    for reader in readers:
        assert reader.stdin is not None
        reader.stdin.write("\n")
        reader.stdin.flush()
    ended = [reader.communicate() for reader in readers]
    assert [out for out, _ in ended] == ["1\n1\n"] * 4
    assert [reader.returncode for reader in readers] == [0] * 4


def test_a_run_waits_for_a_reader_instead_of_refusing(store: Store, start_reader):
    reader = start_reader()
    assert first_line(reader) == "1\n"
    got: list[StoreLock] = []
    run = threading.Thread(
        target=lambda: got.append(StoreLock.acquire(store, command="skillopt run", wait_s=60))
    )
    run.start()
    reader.communicate("\n")
    run.join(timeout=30)
    [lock] = got
    lock.release()


def test_the_server_of_a_killed_reader_ends_with_it(store: Store, start_reader):
    reader = start_reader()
    assert first_line(reader) == "1\n"
    reader.kill()
    eventually(lambda: live_url(store) is None, "the server has ended")
    with attached(None, store.root) as state:
        assert runs_of(state) == ["first"]


def test_a_store_that_is_not_there_is_not_created(tmp_path: Path):
    with (
        pytest.raises(ConfigError, match=r"no store '.*missing'.*--store"),
        attached(None, tmp_path / "missing"),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_store_without_a_redis_of_its_own_is_refused(tmp_path: Path):
    store = Store.open(tmp_path / "shared only")
    before = sorted(path.name for path in store.root.rglob("*"))
    with (
        pytest.raises(ConfigError, match=r"no Redis data of its own.*--redis"),
        attached(None, store.root),
    ):
        pass
    assert sorted(path.name for path in store.root.rglob("*")) == before


def test_a_store_held_without_a_redis_is_refused_with_the_holder(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("producer.attached.PATIENCE_S", 0.2)
    with (
        StoreLock.acquire(store, command="skillopt run s.yaml --redis"),
        pytest.raises(StoreBusy, match=r"skillopt run s\.yaml.*--redis URL"),
        attached(None, store.root),
    ):
        pass


def test_a_redis_url_is_used_and_no_store_is_touched(redis_url: str, tmp_path: Path):
    with attached(redis_url, tmp_path / "missing") as state:
        create_run(state, "shared")
    with attached(redis_url, tmp_path / "missing") as state:
        assert runs_of(state) == ["shared"]
    assert list(tmp_path.iterdir()) == []


def test_a_redis_that_is_away_is_named_without_its_password():
    with (
        pytest.raises(StateUnavailable) as refused,
        attached("redis://me:se%20cret@127.0.0.1:1/0", Path("unused")),
    ):
        pass
    message = str(refused.value)
    assert "redis://me:***@127.0.0.1:1/0" in message
    assert "cret" not in message
    assert "--redis" in message


def test_a_redis_that_does_not_know_the_password_is_not_used(redis_url: str):
    with_login = redis_url.replace("unix://", "unix://me:secret@")
    with (
        pytest.raises(StateUnavailable, match=r"cannot be used") as refused,
        attached(with_login, Path("unused")),
    ):
        pass
    assert "secret" not in str(refused.value)

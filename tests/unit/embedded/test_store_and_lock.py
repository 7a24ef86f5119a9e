from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from embedded_processes import PYTHON, eventually

from producer.embedded.lock import StoreLock
from producer.embedded.store import Store
from skillopt.errors import ConfigError, StoreBusy
from skillopt.guarded import GuardedProcess, GuardTerms

OWNER = """
import sys, time
from pathlib import Path
from producer.embedded.lock import StoreLock
from producer.embedded.store import Store
from skillopt.guarded import GuardedProcess, GuardTerms
lock = StoreLock.acquire(Store.open(Path(sys.argv[1])), command="skillopt run owner.yaml")
stubborn = "import signal, time; signal.signal(15, 1); print('up', flush=True); time.sleep(100)"
process = GuardedProcess.start(
    [sys.executable, "-I", "-S", "-c", stubborn],
    terms=GuardTerms(grace_s=float(sys.argv[2]), hold_fds=(lock.fd,)),
)
time.sleep(100)
"""


def test_opening_creates_the_folders(tmp_path):
    store = Store.open(tmp_path / "deep" / ".skillopt")
    assert store.runs_dir.is_dir()
    assert stat.S_IMODE(store.redis_dir.stat().st_mode) == 0o700
    assert sorted(path.name for path in store.root.iterdir()) == ["redis", "runs"]


def test_opening_again_changes_nothing(tmp_path):
    first = Store.open(tmp_path / "store")
    (first.runs_dir / "kept").write_text("x")
    assert Store.open(tmp_path / "store") == first
    assert (first.runs_dir / "kept").exists()


def test_links_to_a_store_are_the_same_store(tmp_path):
    store = Store.open(tmp_path / "store")
    (tmp_path / "link").symlink_to(store.root)
    assert Store.open(tmp_path / "link") == store


def test_file_in_place_of_the_store_is_named(tmp_path):
    (tmp_path / "store").write_text("")
    with pytest.raises(ConfigError, match=r"store '.*/store' is not a folder: .*--store"):
        Store.open(tmp_path / "store")


def test_store_below_a_file_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"store '.*/file/store' cannot be written to .*--store"):
        Store.open(tmp_path / "file" / "store")


@pytest.mark.skipif(not Path("/proc/1").exists(), reason="needs a folder nobody can write to")
def test_store_in_a_read_only_place_is_named():
    with pytest.raises(ConfigError, match=r"'/proc/1/store' cannot be written to"):
        Store.open(Path("/proc/1/store"))


def test_lock_file_names_the_holder(tmp_path):
    store = Store.open(tmp_path)
    with StoreLock.acquire(store, command="skillopt run spec.yaml"):
        holder = json.loads(store.lock_path.read_text())
    assert holder["pid"] == os.getpid()
    assert holder["command"] == "skillopt run spec.yaml"
    assert holder["host"] == socket.gethostname()


def test_busy_store_names_holder_and_fix(tmp_path, run_owner):
    store = Store.open(tmp_path)
    owner = run_owner(OWNER, str(tmp_path), "0.1")
    assert owner.stdout.readline() == b"up\n"
    with pytest.raises(StoreBusy) as caught:
        StoreLock.acquire(store, command="second", wait_s=90)
    text = str(caught.value)
    for part in (repr(str(store.root)), str(owner.pid), "'skillopt run owner.yaml'", "since 20"):
        assert part in text
    assert "wait for it, stop it, or use another --store" in text


def test_lock_waits_for_what_a_dead_owner_left(tmp_path, run_owner):
    store = Store.open(tmp_path)
    owner = run_owner(OWNER, str(tmp_path), "0.5")
    assert owner.stdout.readline() == b"up\n"
    owner.kill()  # and not reaped: a zombie must not pass for alive
    with StoreLock.acquire(store, command="second", wait_s=30):
        assert json.loads(store.lock_path.read_text())["command"] == "second"


def test_lock_gives_up_when_a_dead_owners_processes_stay(tmp_path, run_owner):
    store = Store.open(tmp_path)
    owner = run_owner(OWNER, str(tmp_path), "3")
    assert owner.stdout.readline() == b"up\n"
    owner.kill()
    owner.wait()
    with pytest.raises(StoreBusy, match=rf"pid {owner.pid}, ended.*0\.1 s.*--store"):
        StoreLock.acquire(store, command="second", wait_s=0.1)


def test_released_lock_is_free_and_releasing_twice_is_fine(tmp_path):
    store = Store.open(tmp_path)
    lock = StoreLock.acquire(store, command="first")
    lock.release()
    lock.release()
    with pytest.raises(ValueError, match="was released"):
        _ = lock.fd
    StoreLock.acquire(store, command="second", wait_s=0).release()


def test_release_does_not_unlock_for_a_guard_that_holds_it(tmp_path):
    store = Store.open(tmp_path)
    lock = StoreLock.acquire(store, command="first")
    process = GuardedProcess.start(
        [*PYTHON, "-c", "import time; time.sleep(100)"],
        stdout=subprocess.DEVNULL,
        terms=GuardTerms(hold_fds=(lock.fd,)),
    )
    assert process.child_pid() is not None
    lock.release()
    with pytest.raises(StoreBusy, match="an unknown command"):
        StoreLock.acquire(store, command="second", wait_s=0.1)
    process.stop()
    StoreLock.acquire(store, command="second", wait_s=10).release()


def test_holder_on_another_host_counts_as_alive(tmp_path):
    store = Store.open(tmp_path)
    with StoreLock.acquire(store, command="first"):
        holder = json.loads(store.lock_path.read_text()) | {"host": "elsewhere", "pid": 1}
        store.lock_path.write_text(json.dumps(holder))
        with pytest.raises(StoreBusy, match="process 1 on host 'elsewhere'"):
            StoreLock.acquire(store, command="second", wait_s=90)


def test_reused_process_number_does_not_count_as_the_holder(tmp_path):
    store = Store.open(tmp_path)
    with StoreLock.acquire(store, command="first"):
        holder = json.loads(store.lock_path.read_text()) | {"start_ticks": 1}
        store.lock_path.write_text(json.dumps(holder))
        with pytest.raises(StoreBusy, match=r"ended\)"):
            StoreLock.acquire(store, command="second", wait_s=0.1)


def test_lock_file_that_is_a_folder_is_named(tmp_path):
    store = Store.open(tmp_path)
    store.lock_path.mkdir()
    with pytest.raises(ConfigError, match=r"lock file '.*/lock' cannot be opened"):
        StoreLock.acquire(store, command="first")


def test_dead_owners_lock_becomes_free_by_itself(tmp_path, run_owner):
    store = Store.open(tmp_path)
    owner = run_owner(OWNER, str(tmp_path), "0.1")
    assert owner.stdout.readline() == b"up\n"
    owner.kill()
    owner.wait()

    def is_free() -> bool:
        try:
            StoreLock.acquire(store, command="second", wait_s=0).release()
        except StoreBusy:
            return False
        return True

    eventually(is_free, "the lock is free")

"""What the doctor says of this machine and of the store: nothing is made by looking."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from pathlib import Path

import pytest

from producer.doctor.check import Check
from producer.doctor.machine import machine_checks
from producer.doctor.storage import storage_checks
from producer.embedded import redis_binary
from producer.embedded.lock import StoreLock, holder_of
from producer.embedded.store import Store
from skillopt import __version__


def machine(store: Path, *, shared_redis: bool = False) -> dict[str, Check]:
    return {one.name: one for one in machine_checks(shared_redis=shared_redis, store=store)}


def storage(store: Path) -> dict[str, Check]:
    return {check.name: check for check in storage_checks(store)}


def test_interpreter_system_package_and_program_are_told(tmp_path):
    found = machine(tmp_path / "store")
    assert platform.python_version() in found["python"].value
    assert platform.machine() in found["platform"].value
    assert __version__ in found["package"].value
    assert found["redis program"].status == "ok"
    assert "redis-server" in found["redis program"].value
    assert not (tmp_path / "store").exists()


def test_without_a_redis_program_the_private_mode_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(redis_binary, "_candidates", list)
    found = machine(tmp_path)["redis program"]
    assert (found.status, "--redis" in found.fix) == ("failed", True)


def test_a_shared_redis_needs_no_program(tmp_path, monkeypatch):
    monkeypatch.setattr(redis_binary, "_candidates", list)
    assert machine(tmp_path, shared_redis=True)["redis program"].status == "skipped"


def test_a_program_older_than_the_store_fails_with_both_versions(tmp_path):
    store = Store.open(tmp_path / "store")
    (store.redis_dir / "server-version").write_text("99.1.0\n")
    found = machine(store.root)["redis program"]
    assert found.status == "failed"
    assert "99.1.0" in found.value
    assert "99.1.0" in found.fix


def test_a_store_that_is_not_there_yet_is_not_made(tmp_path):
    found = storage(tmp_path / "a" / "store")
    assert {check.status for check in found.values()} == {"ok"}
    assert "not there yet" in found["store"].detail
    assert list(tmp_path.iterdir()) == []


def test_a_store_is_left_as_it_was(tmp_path):
    (tmp_path / "kept").write_text("x")
    assert storage(tmp_path)["store"].status == "ok"
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_file_in_the_place_of_the_store_fails(tmp_path):
    (tmp_path / "store").write_text("a file")
    found = storage(tmp_path / "store")["store"]
    assert (found.status, "--store" in found.fix) == ("failed", True)


def test_a_store_that_cannot_be_written_to_fails(tmp_path, monkeypatch):
    def refuse(**_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "NamedTemporaryFile", refuse)
    found = storage(tmp_path)["store"]
    assert (found.status, "Permission denied" in found.value) == ("failed", True)


def test_a_store_that_could_not_be_made_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = storage(tmp_path / "new")["store"]
    assert (found.status, str(tmp_path) in found.value) == ("failed", True)


@pytest.mark.parametrize(
    ("free", "status"), [(50_000_000, "failed"), (500_000_000, "warning"), (10**12, "ok")]
)
def test_room_on_the_disk_is_looked_at(tmp_path, monkeypatch, free, status):
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert storage(tmp_path)["disk space"].status == status


def test_a_run_in_progress_is_told(tmp_path):
    store = Store.open(tmp_path / "store")
    assert storage(store.root)["store in use"].value == "no"
    with StoreLock.acquire(store, command="skillopt run x.yaml"):
        holder = holder_of(store)
        assert holder is not None
        assert holder.pid == os.getpid()
        found = storage(store.root)["store in use"]
        assert (found.status, "'skillopt run x.yaml'" in found.value) == ("ok", True)
    assert holder_of(store) is None

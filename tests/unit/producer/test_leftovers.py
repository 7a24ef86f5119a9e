"""What killed processes left goes only if it is old and in nobody's use."""

from __future__ import annotations

import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from producer.leftovers import leftovers, remove_leftover
from skillopt.domain.timing import DAY_S
from skillopt.programs.folder import default_folder

NOW = 2_000_000_000.0


@pytest.fixture
def temporary(monkeypatch) -> Iterator[Path]:
    """A temporary folder of our own; a socket's path must be short."""
    with tempfile.TemporaryDirectory(prefix="so-") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def aged(path: Path, days: float) -> Path:
    then = NOW - days * DAY_S
    os.utime(path, (then, then))
    return path


def workspace(name: str, days: float) -> Path:
    folder = default_folder() / name
    (folder / "work").mkdir(parents=True)
    (folder / "work" / "notes").write_bytes(b"x" * 100)
    folder.with_suffix(".lock").touch()
    return aged(folder, days)


def socket_folder(root: Path, digits: str, days: float) -> Path:
    folder = root / f"skillopt-{digits * 16}"
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "r.sock"))
    return aged(folder, days)


def test_old_workspaces_whose_worker_is_gone_are_removed(temporary: Path):
    old = workspace("aaaaaaaaaaaa", 31)
    workspace("bbbbbbbbbbbb", 29)
    (default_folder() / "cache").mkdir()
    aged(default_folder() / "cache", 99)
    [found] = leftovers(NOW, 30 * DAY_S)
    assert (found.kind, found.path, found.bytes) == ("workspace", str(old), 100)
    assert remove_leftover(found)
    assert not old.exists()
    assert not old.with_suffix(".lock").exists()
    assert leftovers(NOW, 30 * DAY_S) == []


def test_a_workspace_in_use_stays(temporary: Path):
    old = workspace("aaaaaaaaaaaa", 99)
    with old.with_suffix(".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert leftovers(NOW, DAY_S) == []
    [found] = leftovers(NOW, DAY_S)
    with old.with_suffix(".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert not remove_leftover(found)
    assert (old / "work" / "notes").exists()


def test_a_workspace_is_kept_for_a_week_whatever_the_age_asked_for(temporary: Path):
    workspace("aaaaaaaaaaaa", 6)
    assert leftovers(NOW, 0) == []


def test_sockets_that_nobody_answers_on_are_removed(temporary: Path):
    dead = socket_folder(temporary, "a", 31)
    socket_folder(temporary, "b", 29)
    (temporary / "skillopt-notes").mkdir()
    aged(temporary / "skillopt-notes", 99)
    [found] = leftovers(NOW, 30 * DAY_S)
    assert (found.kind, found.path) == ("socket", str(dead))
    assert remove_leftover(found)
    assert not dead.exists()


def test_a_socket_folder_with_something_else_in_it_stays(temporary: Path):
    folder = socket_folder(temporary, "a", 31)
    (folder / "mine").touch()
    aged(folder, 31)
    [found] = leftovers(NOW, 30 * DAY_S)
    assert not remove_leftover(found)
    assert (folder / "mine").exists()


def test_a_link_is_never_followed(temporary: Path, tmp_path: Path):
    precious = tmp_path / "precious"
    precious.mkdir()
    aged(precious, 99)
    default_folder().mkdir()
    (default_folder() / "aaaaaaaaaaaa").symlink_to(precious)
    (temporary / f"skillopt-{'a' * 16}").symlink_to(precious)
    assert leftovers(NOW, 30 * DAY_S) == []

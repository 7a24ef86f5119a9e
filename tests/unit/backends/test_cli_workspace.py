"""Throw-away folders, and the one credential in them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

import pytest

from skillopt.backends.cli.credentials import borrowed_login, rescue_login
from skillopt.backends.cli.workspace import Workspace, WorkspaceFile, sweep
from skillopt.errors import AuthFailed, CallTimeout, ConfigError, TaskError
from skillopt.programs.environment import base_environment


@pytest.fixture
def root(tmp_path):
    return tmp_path / "r"


@pytest.fixture
def workspace(root):
    made = Workspace.create(root)
    yield made
    if made.folder.exists():
        made.remove()


def test_a_workspace_is_private_and_empty(workspace):
    assert workspace.folder.stat().st_mode & 0o777 == 0o700
    assert list(workspace.work.iterdir()) == list(workspace.home.iterdir()) == []


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", "a//b", "."])
def test_no_file_can_be_named_outside_the_workspace(path):
    with pytest.raises(TaskError, match="leads out of the workspace"):
        WorkspaceFile(path, b"x")


def test_files_keep_their_folders_and_their_right_to_run(workspace):
    workspace.put(workspace.work, [WorkspaceFile("a/run.sh", b"x", executable=True)])
    path = workspace.work / "a" / "run.sh"
    assert path.read_bytes() == b"x" and path.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("second", ["a", "a/b"])
def test_a_file_never_replaces_another(workspace, second):
    files = [WorkspaceFile("a", b"1"), WorkspaceFile(second, b"2")]
    with pytest.raises(TaskError, match=f"{second!r} is in the workspace already"):
        workspace.put(workspace.work, files)


def test_removal_takes_what_an_agent_made_read_only(workspace):
    locked = workspace.work / "locked"
    locked.mkdir()
    (locked / "x").write_text("x")
    locked.chmod(0o500)
    workspace.remove()
    assert not workspace.folder.exists()


def test_removal_does_not_follow_a_link_out_of_the_workspace(workspace, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("x")
    (workspace.work / "link").symlink_to(outside)
    workspace.remove()
    assert (outside / "x").exists()


def test_a_root_that_others_can_enter_is_refused(root):
    root.mkdir(mode=0o755)
    with pytest.raises(ConfigError, match="open to others"):
        Workspace.create(root)


def test_a_root_with_too_long_a_path_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="too long a path"):
        Workspace.create(tmp_path / ("x" * 100))


def test_sweeping_spares_the_living_and_removes_the_abandoned(root, workspace):
    dead = Workspace.create(root)
    os.close(dead.lock)
    sweep(root, lambda found: True)
    assert workspace.folder.exists() and not dead.folder.exists()


def test_sweeping_keeps_what_could_not_be_rescued(root):
    dead = Workspace.create(root)
    os.close(dead.lock)
    sweep(root, lambda found: False)
    assert dead.folder.exists()


def test_the_environment_takes_only_what_is_listed():
    env = base_environment({"PATH": "/bin", "AWS_SECRET": "x", "NO_PROXY": "corp", "LANG": "C"})
    assert "AWS_SECRET" not in env and env["PATH"] == "/bin"
    assert env["NO_PROXY"] == "corp,127.0.0.1,localhost,::1"


OLD, NEW = {"tokens": {"refresh": "old"}}, {"tokens": {"refresh": "new"}}


@pytest.fixture
def login(tmp_path):
    path = tmp_path / "auth.json"
    path.write_text(json.dumps(OLD))
    return path


def lend(login, workspace, use, wait_s=5.0):
    copy = workspace.config / "auth.json"

    async def run():
        async with borrowed_login(login, copy, workspace, wait_s):
            assert copy.stat().st_mode & 0o077 == 0
            use(copy)

    asyncio.run(run())
    return json.loads(login.read_text())


def test_a_renewed_login_is_written_back(login, workspace):
    assert lend(login, workspace, lambda copy: copy.write_text(json.dumps(NEW))) == NEW


@pytest.mark.parametrize("left", ["", "{", "[]", "{}", '"x"', '{"other": 1}'])
def test_a_damaged_or_foreign_login_is_not_written_back(login, workspace, left):
    assert lend(login, workspace, lambda copy: copy.write_text(left)) == OLD


def test_a_login_that_the_program_removed_is_kept(login, workspace):
    assert lend(login, workspace, lambda copy: copy.unlink()) == OLD


def test_a_person_who_logged_in_meanwhile_wins(login, workspace):
    theirs = {"tokens": {"refresh": "theirs"}}

    def both(copy):
        copy.write_text(json.dumps(NEW))
        login.write_text(json.dumps(theirs))

    assert lend(login, workspace, both) == theirs


def test_a_damaged_login_is_refused_before_anything_runs(login, workspace):
    login.write_text("{")
    with pytest.raises(AuthFailed, match="log in again"):
        lend(login, workspace, lambda copy: pytest.fail("ran"))


def test_a_login_is_used_by_one_run_at_a_time(login, root):
    inside, most = 0, 0

    async def use():
        nonlocal inside, most
        space = Workspace.create(root)
        async with borrowed_login(login, space.config / "auth.json", space, 20.0):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            held = json.loads((space.config / "auth.json").read_text())
            held["tokens"]["refresh"] += "+"
            (space.config / "auth.json").write_text(json.dumps(held))
            inside -= 1
        space.remove()

    async def all_of_them():
        await asyncio.gather(*(use() for _ in range(4)))

    asyncio.run(all_of_them())
    assert most == 1
    assert json.loads(login.read_text())["tokens"]["refresh"] == "old++++"


def test_a_login_in_use_for_too_long_is_a_timeout(login, workspace, root):
    def second(copy):
        other = Workspace.create(root)
        with pytest.raises(CallTimeout, match="in use"):
            asyncio.run(_lend_to(other))
        other.remove()

    async def _lend_to(other):
        async with borrowed_login(login, other.config / "auth.json", other, 0.0):
            pytest.fail("two runs have the login")

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        lend(login, workspace, lambda copy: pool.submit(second, copy).result())


_KILLED = """
import asyncio, os, sys
from pathlib import Path
from skillopt.backends.cli.credentials import borrowed_login
from skillopt.backends.cli.workspace import Workspace
async def run(login, root):
    space = Workspace.create(root)
    async with borrowed_login(login, space.config / "auth.json", space, 5.0):
        (space.config / "auth.json").write_text(sys.argv[3])
        os._exit(9)
asyncio.run(run(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def test_what_a_killed_worker_renewed_is_rescued(login, root):
    command = [sys.executable, "-c", _KILLED, str(login), str(root), json.dumps(NEW)]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(command, env=environ, check=False).returncode == 9
    assert json.loads(login.read_text()) == OLD
    sweep(root, rescue_login)
    assert json.loads(login.read_text()) == NEW
    assert [path.name for path in root.iterdir()] == ["cache"]


def test_a_login_in_use_keeps_its_old_workspace_until_later(login, root, workspace):
    dead = Workspace.create(root)
    record = {"source": str(login), "copy_at": str(dead.config / "a"), "digest": "0"}
    (dead.control / "login.json").write_text(json.dumps(record))
    os.close(dead.lock)
    lend(login, workspace, lambda copy: sweep(root, rescue_login))
    assert dead.folder.exists()
    sweep(root, rescue_login)
    assert not dead.folder.exists()

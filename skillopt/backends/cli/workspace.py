"""A throw-away home, configuration home and working folder for one run of a program.

    <root>/<id>.lock      held while the run lives, by the worker and by the program's guard
    <root>/<id>/home      HOME              <root>/<id>/config   the program's configuration home
    <root>/<id>/work      working folder    <root>/<id>/tmp      TMPDIR
    <root>/<id>/control   what the harness keeps: system prompt, schema, usage, broker's socket
    <root>/cache          what programs unpack once and share (no credential, no history)

A worker that is killed leaves its workspace behind; `sweep` removes those whose lock is free.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from skillopt.errors import ConfigError, TaskError
from skillopt.programs.folder import CACHE, open_folder

_PARTS = ("home", "config", "work", "tmp", "control")
#: Longest path of a unix socket, the final zero byte left out.
_LONGEST_SOCKET_PATH = 107


@dataclass(frozen=True)
class WorkspaceFile:
    """A file for a folder of a workspace; its path is relative, with forward slashes."""

    path: str
    content: bytes = field(repr=False)
    executable: bool = False

    def __post_init__(self) -> None:
        parts = PurePosixPath(self.path).parts
        if not parts or "/".join(parts) != self.path or ".." in parts or "\0" in self.path:
            raise TaskError(f"{self.path!r} leads out of the workspace; give a path inside it")


class Workspace:
    """The folders of one run; `remove` takes all of them away."""

    def __init__(self, folder: Path, lock: int) -> None:
        self.folder = folder
        self.lock = lock
        self.home, self.config, self.work, self.tmp, self.control = (
            folder / part for part in _PARTS
        )
        self.cache = folder.parent / CACHE
        self.socket = self.control / "broker"

    @classmethod
    def create(cls, root: Path) -> Workspace:
        """Make an empty workspace below `root`; raises ConfigError if its paths are too long."""
        open_folder(root)
        while True:
            folder = root / secrets.token_hex(6)
            lock = _take_lock(_lock_path(folder))
            if lock is not None:
                break
        workspace = cls(folder, lock)
        if len(os.fsencode(workspace.socket)) > _LONGEST_SOCKET_PATH:
            workspace.remove()
            raise ConfigError(f"the folder {str(root)!r} has too long a path; choose a shorter one")
        for path in (folder, *(folder / part for part in _PARTS)):
            path.mkdir(mode=0o700)
        return workspace

    @property
    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "TMPDIR": str(self.tmp),
            "PWD": str(self.work),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local" / "share"),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_CACHE_HOME": str(self.cache),
        }

    def put(self, below: Path, files: Sequence[WorkspaceFile]) -> tuple[Path, ...]:
        """Write files into a folder of the workspace; raises TaskError for two at one path."""
        written = []
        for file in files:
            # The folder is fresh, so nothing but the path itself could lead out of it.
            path = below.joinpath(*file.path.split("/"))
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with path.open("xb") as target:
                    target.write(file.content)
            except (FileExistsError, NotADirectoryError):
                raise TaskError(
                    f"{file.path!r} is in the workspace already; rename one of the two"
                ) from None
            path.chmod(0o700 if file.executable else 0o600)
            written.append(path)
        return tuple(written)

    def remove(self) -> None:
        """Take the workspace away; what cannot be removed is an error, for it may hold a login."""
        if self.folder.exists():
            _make_writable(self.folder)
            shutil.rmtree(self.folder)
        _lock_path(self.folder).unlink(missing_ok=True)
        os.close(self.lock)


def sweep(root: Path, rescue: Callable[[Workspace], bool]) -> None:
    """Remove the workspaces whose worker and program are gone.

    `rescue` saves first what must not be lost; where it cannot, the workspace waits.
    """
    for path in sorted(root.glob("*.lock")) if root.is_dir() else ():
        lock = _take_lock(path)
        if lock is None:
            continue
        workspace = Workspace(path.with_suffix(""), lock)
        if rescue(workspace):
            workspace.remove()
        else:
            os.close(lock)


def _lock_path(folder: Path) -> Path:
    return folder.with_suffix(".lock")


def _take_lock(path: Path) -> int | None:
    """Lock a file; None if somebody else has it, or took it away meanwhile."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_ino == path.stat().st_ino:
            return lock
    except (BlockingIOError, FileNotFoundError):
        pass  # the answer is None
    os.close(lock)
    return None


def _make_writable(folder: Path) -> None:
    """An agent may take away its own right to write; then removal would fail half-way."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        here.chmod(0o700)
        with os.scandir(here) as entries:
            waiting += [
                Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)
            ]

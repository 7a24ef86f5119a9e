"""What killed processes left on this machine: workspaces of agent programs, dead sockets."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from producer.embedded.redis_probe import ping
from skillopt.domain.timing import DAY_S
from skillopt.programs.folder import default_folder

#: A login that a program renewed in a workspace may still be fetched by the next worker: until
#: then, and long after, it is not ours to remove.
LEAST_WORKSPACE_AGE_S = 7 * DAY_S
#: A server may be about to use a socket's folder.
LEAST_SOCKET_AGE_S = 3_600.0

_SOCKET_FOLDER = re.compile(r"skillopt-[0-9a-f]{16}")
_WORKSPACE = re.compile(r"[0-9a-f]{12}")


class Leftover(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["workspace", "socket"]
    path: str
    bytes: int


def leftovers(now: float, older_than_s: float) -> list[Leftover]:
    """Find what is older, ours, and in nobody's use."""
    return [
        *_workspaces(default_folder(), now - max(older_than_s, LEAST_WORKSPACE_AGE_S)),
        *_sockets(Path(tempfile.gettempdir()), now - max(older_than_s, LEAST_SOCKET_AGE_S)),
    ]


def remove_leftover(found: Leftover) -> bool:
    """Remove it; False if somebody uses it by now."""
    path = Path(found.path)
    if found.kind == "socket":
        return _remove_socket(path)
    with _free(path.with_suffix(".lock")) as is_free:
        if not is_free:
            return False
        shutil.rmtree(path, ignore_errors=True)
        path.with_suffix(".lock").unlink(missing_ok=True)
        return not path.exists()


def _workspaces(root: Path, limit: float) -> Iterator[Leftover]:
    if not _is_ours(root):
        return
    for path in sorted(root.iterdir()):
        if not (_WORKSPACE.fullmatch(path.name) and _is_ours(path)):
            continue
        with _free(path.with_suffix(".lock")) as is_free:
            if is_free and path.stat().st_mtime < limit:
                yield Leftover(kind="workspace", path=str(path), bytes=_bytes(path))


def _sockets(root: Path, limit: float) -> Iterator[Leftover]:
    for path in sorted(root.iterdir()):
        if not (_SOCKET_FOLDER.fullmatch(path.name) and _is_ours(path)):
            continue
        if path.stat().st_mtime < limit and ping(path / "r.sock") is None:
            yield Leftover(kind="socket", path=str(path), bytes=0)


def _remove_socket(folder: Path) -> bool:
    if ping(folder / "r.sock") is not None:
        return False
    (folder / "r.sock").unlink(missing_ok=True)
    try:
        folder.rmdir()
    except OSError:
        return False  # something else is in there: not ours to judge
    return True


@contextmanager
def _free(lock: Path) -> Iterator[bool]:
    """Hold a workspace's lock; False if a worker or a program has it."""
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        yield True
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _is_ours(path: Path) -> bool:
    try:
        return not path.is_symlink() and path.is_dir() and path.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _bytes(folder: Path) -> int:
    sizes = 0
    for here, _, names in os.walk(folder):
        sizes += sum(os.lstat(os.path.join(here, name)).st_size for name in names)  # noqa: PTH118
    return sizes

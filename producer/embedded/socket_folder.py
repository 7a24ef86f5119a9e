"""Where the private Redis listens: a socket in a short folder that only this user can enter."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from producer.embedded.store import Store
from skillopt.errors import EmbeddedError

#: What the kernel accepts as the path of a Unix socket.
MAX_SOCKET_PATH_BYTES = 107


def socket_path(store: Store) -> Path:
    """The socket of a store: the same for every command of this user, under any spelling of it.

    Raises EmbeddedError if the system's temporary folder makes the path too long.
    """
    path = Path(tempfile.gettempdir()) / f"skillopt-{store.key[:16]}" / "r.sock"
    size = len(os.fsencode(path))
    if size > MAX_SOCKET_PATH_BYTES:
        raise EmbeddedError(
            f"socket path {str(path)!r} has {size} bytes, more than {MAX_SOCKET_PATH_BYTES}: "
            "set TMPDIR to a folder with a shorter path"
        )
    return path


def prepare_folder(folder: Path) -> None:
    """Create the socket's folder, or check that the one there is ours alone."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        check_folder(folder)
    except OSError as error:
        raise EmbeddedError(
            f"socket folder {str(folder)!r} cannot be created ({error.strerror}): "
            "set TMPDIR to a folder that can be written to"
        ) from error


def check_folder(folder: Path) -> None:
    """Raise EmbeddedError unless the folder is a real one, ours, and closed to others."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        problem = "is not a folder (or is a symbolic link)"
    elif found.st_uid != os.geteuid():
        problem = f"belongs to user {found.st_uid}"
    elif found.st_mode & 0o077:
        problem = "is open to other users"
    else:
        return
    raise EmbeddedError(
        f"socket folder {str(folder)!r} {problem}: remove it, or set TMPDIR to another folder"
    )

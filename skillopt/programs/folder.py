"""The folder below which agent programs of this user run."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from skillopt.errors import ConfigError

#: What programs unpack once and share (no credential, no history).
CACHE = "cache"


def default_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"skillopt-agents-{os.getuid()}"


def open_folder(folder: Path) -> Path:
    """Make the folder if it is missing, and give its cache.

    Raises ConfigError if somebody else could have prepared it, or could read it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or folder.is_symlink():
        raise ConfigError(
            f"the folder {str(folder)!r} is open to others; remove it, or give it mode 700"
        )
    cache = folder / CACHE
    cache.mkdir(mode=0o700, exist_ok=True)
    return cache

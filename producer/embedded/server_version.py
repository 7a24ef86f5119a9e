"""The version of the server that last wrote a store: an older one may not understand its data."""

from __future__ import annotations

import os
import re
from pathlib import Path

from producer.embedded.redis_binary import RedisBinary, Version, version_text
from skillopt.errors import EmbeddedError


def claim_version(file: Path, binary: RedisBinary) -> None:
    """Record that `binary` is about to write the store; raises EmbeddedError if it is older."""
    recorded = recorded_version(file)
    if recorded is not None and recorded > binary.version:
        raise EmbeddedError(
            f"store {str(file.parent.parent)!r} was last written by Redis "
            f"{version_text(recorded)!r}, and {str(binary.path)!r} is the older "
            f"{version_text(binary.version)!r}: put a 'redis-server' of at least "
            f"{version_text(recorded)} on the PATH, or use another --store"
        )
    if recorded != binary.version:
        part = file.with_suffix(".part")
        with part.open("w", encoding="ascii") as out:
            out.write(version_text(binary.version) + "\n")
            out.flush()
            os.fsync(out.fileno())
        part.replace(file)


def recorded_version(file: Path) -> Version | None:
    """Give the version that last wrote a store; None if nothing did, EmbeddedError if garbled."""
    if not file.exists():
        return None
    text = file.read_text(encoding="utf-8", errors="replace")
    match = re.fullmatch(r"(\d+)\.(\d+)\.(\d+)\s*", text)
    if match is None:
        raise EmbeddedError(
            f"version file {str(file)!r} holds {text[:40]!r}, not a version such as '7.2.4': "
            "write the version of the Redis that last used this store into it, "
            "or use another --store"
        )
    major, minor, patch = (int(part) for part in match.groups())
    return major, minor, patch

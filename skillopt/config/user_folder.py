"""Where a person keeps configuration of their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def user_file(environ: Mapping[str, str], name: str) -> Path | None:
    """Name a file in the user's configuration folder, there or not; None without a home."""
    if environ.get("XDG_CONFIG_HOME"):
        return Path(environ["XDG_CONFIG_HOME"]) / "skillopt" / name
    if environ.get("HOME"):
        return Path(environ["HOME"]) / ".config" / "skillopt" / name
    return None

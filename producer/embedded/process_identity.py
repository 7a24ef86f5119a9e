"""Telling a process from another one that later got the same number."""

from __future__ import annotations

import os
from pathlib import Path


def start_ticks(pid: int) -> int | None:
    """When a process started, in clock ticks since boot.

    None if it is gone (or waits to be reaped), or on a system without /proc.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(pid: int, ticks: int | None) -> bool:
    """Whether the process that had this number and this start is still there."""
    if ticks is not None:
        return start_ticks(pid) == ticks
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

"""Ending a Redis that outlived its owner, before another one is started on its data."""

from __future__ import annotations

import os
import select
import signal
from pathlib import Path

from producer.embedded.redis_probe import ping
from skillopt.errors import EmbeddedError

KILLED_WITHIN_S = 10.0


def end_stale_server(pid_file: Path, socket: Path, *, grace_s: float = 5.0) -> None:
    """End the server named in `pid_file` if it works in that file's folder, and clear its traces.

    The caller holds the store's lock, so no living owner has a server here. A process that merely
    got the recorded number is left alone. Raises EmbeddedError if a server still answers.
    """
    pid = _read_pid(pid_file)
    handle = None if pid is None else _open(pid)
    if pid is not None and handle is not None:
        try:
            _end(handle, pid, pid_file.parent, grace_s)
        finally:
            os.close(handle)
    if ping(socket) is not None:
        raise EmbeddedError(
            f"a Redis server that is not ours to stop answers on {str(socket)!r}: stop it, "
            "or use another --store"
        )
    for trace in (pid_file, socket):
        trace.unlink(missing_ok=True)


def _open(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return None  # no such process, or a system without such handles: the socket will tell


def _end(handle: int, pid: int, folder: Path, grace_s: float) -> None:
    # The handle was opened first: what is checked now is what the signals reach.
    if not _is_server_of(pid, folder):
        return
    for number, limit_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, KILLED_WITHIN_S)):
        try:
            signal.pidfd_send_signal(handle, number)
        except ProcessLookupError:
            return
        if _ended(handle, limit_s):
            return
    raise EmbeddedError(
        f"Redis server {pid} of an earlier command does not end: end it, or use another --store"
    )


def _ended(handle: int, limit_s: float) -> bool:
    waiting = select.poll()
    waiting.register(handle, select.POLLIN)
    return bool(waiting.poll(limit_s * 1000))


def _is_server_of(pid: int, folder: Path) -> bool:
    """Whether a process is a Redis server working in `folder` (a server changes into its data)."""
    process = Path(f"/proc/{pid}")
    try:
        title = (process / "cmdline").read_bytes()
        return b"redis-server" in title and (process / "cwd").samefile(folder)
    except OSError:
        return False


def _read_pid(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text(encoding="ascii"))
    except (FileNotFoundError, ValueError):
        return None

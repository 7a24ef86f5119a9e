"""Running a program to its end under the guard, so that its whole group dies with the worker."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillopt.backends.cli.invocation import Invocation
from skillopt.guarded import GuardedProcess, GuardTerms

#: Kept of each stream: its beginning and its end. The middle of more is dropped.
KEPT_BYTES = 8 << 20
_GRACE_S = 2.0
_POLL_S = 0.005


@dataclass(frozen=True)
class Finished:
    """How a program ended and what it printed."""

    code: int
    stdout: str
    stderr: str


class Capture(asyncio.Protocol):
    """Keeps the beginning and the end of a stream."""

    def __init__(self, ended: asyncio.Future[None], kept_bytes: int) -> None:
        self._ended = ended
        self._half = kept_bytes // 2
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = False

    def data_received(self, data: bytes) -> None:
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        excess = len(self._tail) - self._half
        if excess > 0:
            del self._tail[:excess]
            self._cut = True

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def text(self) -> str:
        # The cut goes through a line: a line break keeps its two halves apart.
        joint = b"\n" if self._cut else b""
        return (bytes(self._head) + joint + bytes(self._tail)).decode("utf-8", "replace")


async def run_program(
    invocation: Invocation,
    *,
    environment: Mapping[str, str],
    cwd: Path,
    deadline_s: float,
    hold_fds: Sequence[int] = (),
    kept_bytes: int = KEPT_BYTES,
) -> Finished:
    """Run a program; cancelling this ends the program and everything it started.

    The guard ends it too, at the deadline or when this process is gone.
    """
    process = _start(
        invocation, {**environment, **invocation.environment}, cwd, deadline_s, hold_fds
    )
    loop = asyncio.get_running_loop()
    captures, ends = [], []
    try:
        for stream in (process.stdout, process.stderr):
            assert stream is not None
            ended: asyncio.Future[None] = loop.create_future()
            _, capture = await loop.connect_read_pipe(
                lambda ended=ended: Capture(ended, kept_bytes),  # type: ignore[misc]
                stream,
            )
            captures.append(capture)
            ends.append(ended)
        # The guard holds standard error until the whole group is gone.
        await asyncio.gather(*ends)
        code = await _ended(process)
    finally:
        if process.poll() is None:
            process.signal(signal.SIGKILL)
            await _ended(process)
    out, err = captures
    return Finished(code, out.text(), err.text())


def _start(
    invocation: Invocation,
    environment: dict[str, str],
    cwd: Path,
    deadline_s: float,
    hold_fds: Sequence[int],
) -> GuardedProcess:
    secret_fd: int | None = None
    with tempfile.TemporaryFile() as stdin:
        stdin.write(invocation.stdin.encode("utf-8", "replace"))
        stdin.seek(0)
        if invocation.secret_by_pipe is not None:
            variable, secret = invocation.secret_by_pipe
            secret_fd = _readable(secret)
            environment = {**environment, variable: str(secret_fd)}
        try:
            return _start_guarded(
                invocation, environment, cwd, stdin, secret_fd, deadline_s, hold_fds
            )
        finally:
            if secret_fd is not None:
                os.close(secret_fd)


def _start_guarded(
    invocation: Invocation,
    environment: Mapping[str, str],
    cwd: Path,
    stdin: IO[bytes],
    secret_fd: int | None,
    deadline_s: float,
    hold_fds: Sequence[int],
) -> GuardedProcess:
    return GuardedProcess.start(
        invocation.argv,
        env=environment,
        cwd=cwd,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        terms=GuardTerms(grace_s=_GRACE_S, deadline_s=deadline_s, hold_fds=tuple(hold_fds)),
        pass_fds=() if secret_fd is None else (secret_fd,),
    )


def _readable(secret: str) -> int:
    """A descriptor from which a secret can be read once."""
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as target:
        target.write(secret.encode())
    return read_end


async def _ended(process: GuardedProcess) -> int:
    while (code := process.poll()) is None:
        await asyncio.sleep(_POLL_S)
    return code

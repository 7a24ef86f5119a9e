"""Starting a command under the guard, so that it is gone when this process is."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from skillopt import guard

#: What may be given as the standard streams of a command.
Stream = int | IO[bytes] | None


@dataclass(frozen=True)
class GuardTerms:
    """When and how the guard ends its command by itself."""

    #: Between SIGTERM and SIGKILL, once the owner is gone or the deadline has passed.
    grace_s: float = 5.0
    deadline_s: float | None = None
    #: How long the command is left alone after the owner is gone.
    linger_s: float = 0.0
    #: Lingering ends early when this pipe reaches its end.
    linger_until_fd: int | None = None
    #: Descriptors kept open by the guard while it lives; the command does not get them.
    hold_fds: tuple[int, ...] = ()


def guard_command(
    argv: Sequence[str], terms: GuardTerms, *, lifeline_fd: int, status_fd: int | None = None
) -> list[str]:
    """The command line that runs `argv` under a guard started by this process.

    The starter lets the guard inherit these two descriptors and every one named in `terms`.
    """
    command = [sys.executable, "-I", "-S", guard.__file__]
    command += ["--lifeline", str(lifeline_fd), "--grace", str(terms.grace_s)]
    command += ["--owner", str(os.getpid()), "--linger", str(terms.linger_s)]
    if terms.deadline_s is not None:
        command += ["--deadline", str(terms.deadline_s)]
    if terms.linger_until_fd is not None:
        command += ["--linger-until", str(terms.linger_until_fd)]
    for fd in terms.hold_fds:
        command += ["--hold", str(fd)]
    if status_fd is not None:
        command += ["--status", str(status_fd)]
    return [*command, "--", *argv]


def exit_in_words(code: int) -> str:
    """What an exit code of the guard says about its command."""
    if code == guard.EXPIRED:
        return "ended at its deadline (exit code 124)"
    if code == guard.NOT_FOUND:
        return "program not found (exit code 127)"
    if code == guard.CANNOT_EXECUTE:
        return "program cannot be executed (exit code 126)"
    with suppress(ValueError):
        return f"killed by {signal.Signals(code - 128).name} (exit code {code})"
    return f"exit code {code}"


class GuardedProcess:
    """A command under its guard. It ends when this object's owner ends, however that happens.

    Not thread safe. Forgetting the object without `stop` closes the lifeline, which ends the
    command too.
    """

    def __init__(self, popen: subprocess.Popen[bytes], lifeline: int, status: int) -> None:
        self._popen = popen
        self._lifeline: int | None = lifeline
        self._status: int | None = status
        self._child: int | None = None
        self._code: int | None = None

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdin: Stream = subprocess.DEVNULL,
        stdout: Stream = None,
        stderr: Stream = None,
        terms: GuardTerms = GuardTerms(),
        pass_fds: Sequence[int] = (),
    ) -> GuardedProcess:
        """Start `argv`; `env` is its whole environment (None: this process's own).

        Returns at once. A program that cannot be started shows as exit code 126 or 127 with the
        reason on its standard error.
        """
        lifeline_read, lifeline_write = os.pipe()
        status_read, status_write = os.pipe()
        named = [*terms.hold_fds, *pass_fds, lifeline_read, status_write]
        if terms.linger_until_fd is not None:
            named.append(terms.linger_until_fd)
        try:
            popen = subprocess.Popen(
                guard_command(argv, terms, lifeline_fd=lifeline_read, status_fd=status_write),
                env=None if env is None else dict(env),
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=named,
                start_new_session=True,  # a Ctrl-C at the terminal is the owner's to handle
            )
        except BaseException:
            os.close(lifeline_write)
            os.close(status_read)
            raise
        finally:
            os.close(lifeline_read)
            os.close(status_write)
        return cls(popen, lifeline_write, status_read)

    @property
    def pid(self) -> int:
        """The guard's process id."""
        return self._popen.pid

    @property
    def stdin(self) -> IO[bytes] | None:
        return self._popen.stdin

    @property
    def stdout(self) -> IO[bytes] | None:
        return self._popen.stdout

    @property
    def stderr(self) -> IO[bytes] | None:
        return self._popen.stderr

    def child_pid(self, timeout_s: float = 10.0) -> int | None:
        """The command's process id; None if it did not start (in time)."""
        if self._status is not None:
            waiting = select.poll()
            waiting.register(self._status, select.POLLIN)
            if waiting.poll(timeout_s * 1000):
                text = os.read(self._status, 64)
                self._child = int(text) if text else None
                self._close_status()
        return self._child

    def poll(self) -> int | None:
        """The command's exit code once it and its whole group are gone, else None."""
        if self._code is None and (code := self._popen.poll()) is not None:
            self._code = code if code >= 0 else 128 - code
            child = self.child_pid(0)
            if code < 0 and child is not None:
                _end_orphans(child)
            self._close_lifeline()
            self._close_status()
        return self._code

    def signal(self, number: int) -> None:
        """Send SIGTERM, SIGQUIT or SIGKILL to the command's whole group."""
        if number not in (*guard.PASSED_ON, signal.SIGKILL):
            raise ValueError(f"signal {number!r} is not one of SIGTERM, SIGQUIT, SIGKILL")
        self._popen.send_signal(guard.KILL_NOW if number == signal.SIGKILL else number)

    def wait(self, timeout_s: float | None = None) -> int:
        """Wait for the end; raises TimeoutError when it does not come in time."""
        try:
            self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"process {self.pid} still runs after {timeout_s} s") from None
        code = self.poll()
        assert code is not None
        return code

    def stop(self, grace_s: float = 5.0) -> int:
        """SIGTERM, then SIGKILL after `grace_s`; returns the exit code. Stopping twice is fine."""
        self.signal(signal.SIGTERM)
        try:
            return self.wait(grace_s)
        except TimeoutError:
            self.signal(signal.SIGKILL)
            return self.wait()

    def __del__(self) -> None:
        self._close_lifeline()
        self._close_status()

    def _close_lifeline(self) -> None:
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None

    def _close_status(self) -> None:
        if self._status is not None:
            os.close(self._status)
            self._status = None


def _end_orphans(group: int) -> None:
    """The guard was killed: its command died with it, the rest of the group did not.

    A group's number is not given to another process while a member lives.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)

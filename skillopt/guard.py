"""A process between an owner and a command, so that the command never outlives the owner.

Run by path, with nothing but the standard library:

    python -I -S guard.py --lifeline FD --grace S [options] -- command [argument ...]

The command runs in a session of its own. It is ended when the lifeline (the read end of a pipe
whose write end only the owner holds) reaches its end, when the process `--owner` is gone, or at
the deadline: after the linger time the whole process group gets SIGTERM, and SIGKILL when the
grace has passed. When the command is gone, whatever it left behind is killed too. If the guard
itself is killed, the kernel kills the command (Linux).

Options:
    --deadline S          end the command after S seconds; the guard then exits with 124
    --linger S            wait S seconds between the reason to end and SIGTERM
    --linger-until FD     stop lingering early, at the end of this pipe
    --owner PID           also treat the end of this process (the guard's parent) as the reason
    --status FD           the command's process id is written here once it runs
    --hold FD             keep FD open as long as the guard lives, hidden from the command

Signals: SIGTERM and SIGQUIT are passed on to the group, SIGUSR1 kills the group at once, SIGINT
and SIGHUP are ignored. The exit code is the command's, 128 + signal if a signal ended it, 126 or
127 if it cannot be started.

Every supervised process pays for this program's start, compilation included: keep it small.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable

Prctl = Callable[[int, int], int]
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36

BAD_USAGE, EXPIRED, CANNOT_EXECUTE, NOT_FOUND = 2, 124, 126, 127

PASSED_ON = (signal.SIGTERM, signal.SIGQUIT)
KILL_NOW = signal.SIGUSR1
SWEEP_S = 5.0
NEVER = float("inf")


class GuardError(Exception):
    """The command is not started: a message, and the guard's exit code."""


class Orders:
    """The parsed command line."""

    def __init__(self, arguments: list[str]) -> None:
        self.lifeline = -1
        self.grace = -1.0
        self.deadline = NEVER
        self.linger = 0.0
        self.linger_until: int | None = None
        self.owner: int | None = None
        self.status: int | None = None
        self.hold: list[int] = []
        if "--" not in arguments:
            raise GuardError("no '--' before the command", BAD_USAGE)
        cut = arguments.index("--")
        self.command = arguments[cut + 1 :]
        if cut % 2:
            raise GuardError(f"option {arguments[cut - 1]!r} has no value", BAD_USAGE)
        for name, value in zip(arguments[:cut:2], arguments[1:cut:2], strict=True):
            self._take(name, value)
        if self.lifeline < 0 or self.grace < 0 or not self.command:
            raise GuardError("--lifeline, --grace and a command are needed", BAD_USAGE)

    def _take(self, name: str, value: str) -> None:
        try:
            if name in ("--grace", "--deadline", "--linger"):
                setattr(self, name[2:], float(value))
            elif name == "--hold":
                self.hold.append(int(value))
            elif name in ("--lifeline", "--linger-until", "--owner", "--status"):
                setattr(self, name[2:].replace("-", "_"), int(value))
            else:
                raise GuardError(f"unknown option {name!r}", BAD_USAGE)
        except ValueError:
            raise GuardError(f"{name} {value!r} is not a number", BAD_USAGE) from None

    def descriptors(self) -> list[int]:
        """Descriptors that are the guard's alone."""
        named = [self.lifeline, self.linger_until, self.status, *self.hold]
        return [fd for fd in named if fd is not None]


class Guard:
    """Watches one running command until it is gone."""

    def __init__(self, orders: Orders, child: int, wake: int) -> None:
        self.orders, self.child, self.wake = orders, child, wake
        self.code: int | None = None
        self.expired = self.clients_gone = False
        self.events = select.poll()
        self.events.register(wake, select.POLLIN)
        self.events.register(orders.lifeline, select.POLLIN)
        self.owner_fd = _open_owner(orders.owner)
        if self.owner_fd >= 0:
            self.events.register(self.owner_fd, select.POLLIN)
        self.owner_gone = orders.owner is not None and os.getppid() != orders.owner
        self.phase = self._running
        self.next_at = time.monotonic() + orders.deadline

    def run(self) -> int:
        while self.code is None:
            self.phase(time.monotonic())
            self._wait()
            self._reap()
        self._sweep()
        return EXPIRED if self.expired else self.code

    def _running(self, now: float) -> None:
        self.expired = now >= self.next_at
        if self.owner_gone or self.expired:
            self.next_at = now + self.orders.linger
            self.phase = self._lingering
            if self.orders.linger_until is not None:
                self.events.register(self.orders.linger_until, select.POLLIN)
            self._lingering(now)

    def _lingering(self, now: float) -> None:
        if self.clients_gone or now >= self.next_at:
            self._signal(signal.SIGTERM)
            self.next_at = now + self.orders.grace
            self.phase = self._ending

    def _ending(self, now: float) -> None:
        if now >= self.next_at:
            self._signal(signal.SIGKILL)
            self.next_at = NEVER

    def _wait(self) -> None:
        """Wait for the next event or moment, and note what happened."""
        left_s = min(max(0.0, self.next_at - time.monotonic()), 3600.0)
        for fd, _ in self.events.poll(left_s * 1000 + 1):
            if fd == self.wake:
                self._pass_on(os.read(fd, 512))
            elif fd == self.owner_fd or not os.read(fd, 512):
                self.events.unregister(fd)
                self.owner_gone |= fd != self.orders.linger_until
                self.clients_gone |= fd == self.orders.linger_until

    def _pass_on(self, signals: bytes) -> None:
        for number in signals:
            if number == KILL_NOW:
                self._signal(signal.SIGKILL)
            elif number in PASSED_ON:
                self._signal(number)

    def _signal(self, number: int) -> None:
        _send(os.killpg, self.child, number)

    def _reap(self) -> bool:
        """Reap what has ended; False once no child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                code = os.waitstatus_to_exitcode(status)
                self.code = code if code >= 0 else 128 - code

    def _sweep(self) -> None:
        """Kill what the command left: its group, and (Linux) descendants that left the group.

        Orphans become the guard's children, so killing children until none is left ends them all.
        """
        self._signal(signal.SIGKILL)
        limit = time.monotonic() + SWEEP_S
        while self._reap() and time.monotonic() < limit:
            for pid in _children():
                _send(os.kill, pid, signal.SIGKILL)
            time.sleep(0.005)


def _send(deliver: Callable[[int, int], None], target: int, number: int) -> None:
    try:
        deliver(target, number)
    except (ProcessLookupError, PermissionError):
        return  # gone already, or a program of another user: nothing we could do


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as listing:  # noqa: PTH123 (fast start)
            return [int(word) for word in listing.read().split()]
    except OSError:
        return []  # a system that does not tell: the group is all that can be reached


def _open_owner(owner: int | None) -> int:
    """A descriptor that becomes readable when the owner ends, even if the lifeline leaked."""
    try:
        return -1 if owner is None else os.pidfd_open(owner)
    except (AttributeError, OSError):
        return -1  # gone, which getppid() tells, or a system without it: the lifeline remains


def _load_prctl() -> Prctl | None:
    if sys.platform != "linux":
        return None
    import ctypes  # noqa: PLC0415 (only where it is of use)

    return ctypes.CDLL(None).prctl


def _route_signals() -> int:
    """Turn signals into bytes on a pipe; returns its read end."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    for number in (*PASSED_ON, KILL_NOW, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    return read_end


def _become(command: list[str], guard: int, prctl: Prctl | None) -> None:
    """Turn the forked process into the command."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    changed = (*PASSED_ON, KILL_NOW, signal.SIGCHLD, signal.SIGINT, signal.SIGHUP)
    for number in (*changed, signal.SIGPIPE, signal.SIGXFSZ):  # the last two by Python
        signal.signal(number, signal.SIG_DFL)
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(128 + signal.SIGKILL)
    os.execvp(command[0], command)  # noqa: S606 (no shell is the point)


def _start(command: list[str], prctl: Prctl | None) -> int:
    """Start the command; it is running its own program and session when this returns."""
    problems, report = os.pipe()  # both close on exec: the end of the pipe is good news
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        try:
            _become(command, guard, prctl)
        except OSError as error:
            os.write(report, f"{error.errno} {error.strerror}".encode())
        finally:
            os._exit(NOT_FOUND)
    os.close(report)
    problem = os.read(problems, 4096).decode()
    os.close(problems)
    if problem:
        os.waitpid(child, 0)
        number, _, text = problem.partition(" ")
        code = NOT_FOUND if int(number) == 2 else CANNOT_EXECUTE
        raise GuardError(f"cannot start {command[0]!r}: {text}", code)
    return child


def _tell(status: int, child: int) -> None:
    try:
        os.write(status, b"%d\n" % child)
    except BrokenPipeError:
        return  # the owner is gone; the lifeline says so too
    finally:
        os.close(status)


def main(arguments: list[str]) -> int:
    try:
        orders = Orders(arguments)
        for fd in orders.descriptors():
            os.set_inheritable(fd, False)
        wake = _route_signals()
        prctl = _load_prctl()
        if prctl is not None:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
        child = _start(orders.command, prctl)
    except GuardError as error:
        message, code = error.args
        os.write(2, f"guard: {message}\n".encode())
        return int(code)
    if orders.status is not None:
        _tell(orders.status, child)
    # The command's input and output end with the command, not with the guard.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    return Guard(orders, child, wake).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One supervised child: starting it again when it dies, and noticing when that is hopeless."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from producer.embedded.logs import indented, last_lines
from producer.embedded.silence import LifeSigns
from skillopt.errors import EmbeddedError
from skillopt.guarded import GuardedProcess, GuardTerms, Stream, exit_in_words
from skillopt.health import STOOD_STILL

LOG_LINES = 10
STANDARD_ERROR = 2


class StopOrder(IntEnum):
    """Lower stops first. What others depend on stops after them; Redis is always last."""

    COORDINATOR = 10
    WORKER = 20
    SIMULATOR = 30


@dataclass(frozen=True)
class ChildSpec:
    """A child to keep running."""

    name: str
    argv: tuple[str, ...]
    #: The child's whole environment. Secrets belong here, never in `argv`.
    env: Mapping[str, str]
    #: Where its output goes; None: to our own standard error.
    log_path: Path | None
    stop_order: int = StopOrder.WORKER
    #: Whether it is started again when it ends, with whatever exit code.
    restart: bool = True
    cwd: Path | None = None
    #: Where it says that it is well; a child that stops saying so is killed and started again.
    health_path: Path | None = None


@dataclass(frozen=True)
class RestartRule:
    """How fast a dead child is started again, and when to give up. Durations in seconds.

    A crash loop is either: many deaths within a short time, or as many in a row without being
    ready once in between, however long each took.
    """

    first_delay_s: float = 0.2
    max_delay_s: float = 5.0
    #: A child alive for this long starts with the first delay again when it dies.
    steady_s: float = 20.0
    #: More deaths than this, within the window or in a row, are a crash loop.
    max_deaths: int = 5
    window_s: float = 30.0


DEFAULT_RESTART_RULE = RestartRule()


@dataclass(frozen=True)
class Death:
    """A child that ended, and the exit code its guard gave."""

    name: str
    code: int
    #: Why it was ended for hanging, in words; None if it ended without our doing.
    hung: str | None = None

    def in_words(self) -> str:
        return f"{self.name} ended: {self.how}"

    @property
    def how(self) -> str:
        if self.hung is not None:
            return f"{self.hung}, so it was killed"
        if self.code == STOOD_STILL:
            return f"it made no progress while work waited (exit code {self.code})"
        return exit_in_words(self.code)


class DeathRecord:
    """Counts a child's deaths against the rule."""

    def __init__(self, rule: RestartRule) -> None:
        self._rule = rule
        self._recent: list[float] = []
        #: Deaths in a row: of a child that was never steady, of one that was never ready.
        self._unsteady = self._unready = 0

    def note(self, now: float, *, lived_s: float, was_ready: bool = True) -> float | None:
        """Note a death; returns the delay before the next start, None in a crash loop."""
        self._recent = [at for at in self._recent if now - at <= self._rule.window_s] + [now]
        self._unready = 0 if was_ready else self._unready + 1
        if self.crash_loop is not None:
            return None
        if was_ready and lived_s >= self._rule.steady_s:
            self._unsteady = 0
        delay = min(self._rule.max_delay_s, self._rule.first_delay_s * 2.0**self._unsteady)
        self._unsteady += 1
        return delay

    @property
    def crash_loop(self) -> str | None:
        """Say in words how often the child ended, if that is a crash loop."""
        if len(self._recent) > self._rule.max_deaths:
            return f"{len(self._recent)} times within {self._rule.window_s:g} s"
        if self._unready > self._rule.max_deaths:
            return f"{self._unready} times in a row and was never ready in between"
        return None


def launch_under_guard(spec: ChildSpec, terms: GuardTerms) -> GuardedProcess:
    """Start a child with its output appended to its log."""
    try:
        with ExitStack() as opened:
            output: Stream = STANDARD_ERROR
            if spec.log_path is not None:
                spec.log_path.parent.mkdir(parents=True, exist_ok=True)
                output = opened.enter_context(spec.log_path.open("ab"))
            return GuardedProcess.start(
                spec.argv,
                env=spec.env,
                cwd=spec.cwd,
                stdout=output,
                stderr=subprocess.STDOUT,
                terms=terms,
            )
    except OSError as error:
        raise EmbeddedError(
            f"child {spec.name!r} cannot be started with log {str(spec.log_path)!r}: "
            f"{error}: check that its folders exist and can be written to"
        ) from error


class Child:
    """A process that is replaced by a new one each time it dies."""

    def __init__(
        self,
        name: str,
        launch: Callable[[], GuardedProcess],
        process: GuardedProcess,
        *,
        log_path: Path | None,
        rule: RestartRule | None,
        silence: LifeSigns | None = None,
    ) -> None:
        self.name = name
        self._silence = silence
        #: Why it was killed, if it hung.
        self._hung: str | None = None
        self.process = process
        self._launch = launch
        self._log_path = log_path
        self._record = None if rule is None else DeathRecord(rule)
        self._started_at = self._looked_at = time.monotonic()
        self._restart_at: float | None = None
        self._reported = False

    def poll(self) -> Death | None:
        """Look after the child; tells once of each death.

        Raises EmbeddedError if it dies again and again.
        """
        now = time.monotonic()
        passed_s, self._looked_at = now - self._looked_at, now
        if self._restart_at is not None:
            if now >= self._restart_at:
                self._start_again(now)
            return None
        code = self.process.poll()
        if code is None:
            self._end_if_hung(passed_s)
        if code is None or self._reported:
            return None
        self._reported = True
        death = Death(self.name, code, self._hung)
        if self._record is not None:
            was_ready = self._silence is None or self._silence.was_ready
            delay = self._record.note(now, lived_s=now - self._started_at, was_ready=was_ready)
            if delay is None:
                raise self._crash_loop(self._record, death)
            self._restart_at = now + delay
        return death

    def _start_again(self, now: float) -> None:
        if self._silence is not None:
            self._silence.forget()
        self.process = self._launch()
        self._started_at, self._restart_at, self._reported = now, None, False
        self._hung = None

    def _end_if_hung(self, passed_s: float) -> None:
        if self._silence is None or self._hung is not None:
            return
        self._hung = self._silence.look(passed_s)
        if self._hung is not None:
            self.process.signal(signal.SIGKILL)

    def _crash_loop(self, record: DeathRecord, death: Death) -> EmbeddedError:
        return EmbeddedError(
            f"child {self.name!r} ended {record.crash_loop}, the last time with: {death.how}. "
            f"Repair what its log says and run the same command again. "
            f"{end_of_log(self._log_path)}"
        )


def end_of_log(path: Path | None) -> str:
    """Quote the last lines of a child's log, for a message."""
    if path is None:
        return "Its output is above."
    return f"End of {str(path)!r}:\n{indented(last_lines(path, LOG_LINES))}"

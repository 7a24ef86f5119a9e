"""One supervised child: starting it again when it dies, and noticing when that is hopeless."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from producer.embedded.logs import indented, last_lines
from skillopt.errors import EmbeddedError
from skillopt.guarded import GuardedProcess, GuardTerms, exit_in_words

LOG_LINES = 10


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
    log_path: Path
    stop_order: int = StopOrder.WORKER
    #: Whether it is started again when it ends, with whatever exit code.
    restart: bool = True
    cwd: Path | None = None


@dataclass(frozen=True)
class RestartRule:
    """How fast a dead child is started again, and when to give up. Durations in seconds."""

    first_delay_s: float = 0.2
    max_delay_s: float = 5.0
    #: A child alive for this long starts with the first delay again when it dies.
    steady_s: float = 20.0
    #: More deaths than this within the window are a crash loop.
    max_deaths: int = 5
    window_s: float = 30.0


DEFAULT_RESTART_RULE = RestartRule()


class DeathRecord:
    """Counts a child's deaths against the rule."""

    def __init__(self, rule: RestartRule) -> None:
        self.rule = rule
        self.recent: list[float] = []
        self._in_a_row = 0

    def note(self, now: float, *, lived_s: float) -> float | None:
        """Note a death; returns the delay before the next start, None in a crash loop."""
        self.recent = [at for at in self.recent if now - at <= self.rule.window_s] + [now]
        if len(self.recent) > self.rule.max_deaths:
            return None
        if lived_s >= self.rule.steady_s:
            self._in_a_row = 0
        delay = min(self.rule.max_delay_s, self.rule.first_delay_s * 2.0**self._in_a_row)
        self._in_a_row += 1
        return delay


def launch_under_guard(spec: ChildSpec, terms: GuardTerms) -> GuardedProcess:
    """Start a child with its output appended to its log."""
    try:
        spec.log_path.parent.mkdir(parents=True, exist_ok=True)
        with spec.log_path.open("ab") as log:
            return GuardedProcess.start(
                spec.argv,
                env=spec.env,
                cwd=spec.cwd,
                stdout=log,
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
        log_path: Path,
        rule: RestartRule | None,
    ) -> None:
        self.name = name
        self.process = process
        self._launch = launch
        self._log_path = log_path
        self._record = None if rule is None else DeathRecord(rule)
        self._started_at = time.monotonic()
        self._restart_at: float | None = None
        self._reported = False

    def poll(self) -> int | None:
        """Look after the child; returns its exit code once for each death.

        Raises EmbeddedError if it dies again and again.
        """
        now = time.monotonic()
        if self._restart_at is not None:
            if now >= self._restart_at:
                self.process = self._launch()
                self._started_at, self._restart_at, self._reported = now, None, False
            return None
        code = self.process.poll()
        if code is None or self._reported:
            return None
        self._reported = True
        if self._record is not None:
            delay = self._record.note(now, lived_s=now - self._started_at)
            if delay is None:
                raise self._crash_loop(self._record, code)
            self._restart_at = now + delay
        return code

    def _crash_loop(self, record: DeathRecord, code: int) -> EmbeddedError:
        lines = last_lines(self._log_path, LOG_LINES)
        return EmbeddedError(
            f"child {self.name!r} ended {len(record.recent)} times within "
            f"{record.rule.window_s:g} s, the last time with: {exit_in_words(code)}. Repair what "
            f"its log says and run the same command again. End of {str(self._log_path)!r}:\n"
            f"{indented(lines)}"
        )

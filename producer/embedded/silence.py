"""Noticing that a child hangs: it lives, but no longer says that it is well."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from producer.embedded.redis_probe import PONG, ping
from skillopt.health import HealthReport

#: The longest step that counts. A supervisor that was itself stopped has seen nothing meanwhile.
LONGEST_STEP_S = 1.0

#: How often a server is asked for a sign of life, and how long that may hold everything up.
ASK_EVERY_S = 1.0
ASK_TIMEOUT_S = 0.2

#: So often at least: one question may go astray.
ASKED_IN_VAIN = 3


@dataclass(frozen=True)
class SilenceRule:
    """How long a child may say nothing. Durations in seconds."""

    #: Until its first report: a busy machine starts programs slowly.
    starting_s: float = 60.0
    between_s: float = 20.0


DEFAULT_SILENCE_RULE = SilenceRule()


class LifeSigns(Protocol):
    """What is seen of a child's life."""

    @property
    def was_ready(self) -> bool:
        """Whether the child was ever able to do its work since it was started."""
        ...

    def forget(self) -> None:
        """The child is about to start (again): nothing seen earlier counts."""
        ...

    def look(self, passed_s: float) -> str | None:
        """Look once, `passed_s` after the last time; says in words why the child hangs, if so."""
        ...


class HealthSilence:
    """Watches the health file of one child."""

    def __init__(self, path: Path, rule: SilenceRule) -> None:
        self._path = path
        self._rule = rule
        self._seen: tuple[int, int] | None = None
        self._silent_s = 0.0
        self.was_ready = False

    def forget(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        self._seen, self._silent_s, self.was_ready = None, 0.0, False

    def look(self, passed_s: float) -> str | None:
        try:
            found = self._path.stat()
        except OSError:
            sign = self._seen  # not there yet, or taken back by a child that is ending
        else:
            sign = (found.st_ino, found.st_mtime_ns)
        if sign != self._seen:
            self._seen, self._silent_s = sign, 0.0
            return self._own_words()
        self._silent_s += min(passed_s, LONGEST_STEP_S)
        limit_s = self._rule.starting_s if self._seen is None else self._rule.between_s
        return _words(limit_s) if self._silent_s > limit_s else None

    def _own_words(self) -> str | None:
        try:
            report = HealthReport.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return None  # it is being replaced, or the child ends: the next look tells
        self.was_ready = self.was_ready or not (report.stuck or report.not_ready)
        return "; ".join(report.stuck) or None


class ServerSilence:
    """Asks the Redis server of a store; an answer of any kind is a sign of life."""

    def __init__(self, socket: Path, rule: SilenceRule) -> None:
        self._socket = socket
        self._rule = rule
        self.forget()

    @property
    def silent(self) -> bool:
        """Whether it did not answer when it was last asked."""
        return self._unanswered > 0

    def forget(self) -> None:
        self._answered = self.was_ready = False
        self._unanswered = 0
        self._unasked_s = self._silent_s = 0.0

    def look(self, passed_s: float) -> str | None:
        # Every step counts in full: whoever uses the server waits for it, too, and asks seldom.
        self._unasked_s += passed_s
        if self._unasked_s < ASK_EVERY_S:
            return None
        step_s, self._unasked_s = self._unasked_s, 0.0
        answer = ping(self._socket, timeout_s=ASK_TIMEOUT_S)
        if answer is not None:
            self._answered, self._unanswered, self._silent_s = True, 0, 0.0
            self.was_ready = self.was_ready or answer == PONG
            return None
        self._silent_s += step_s if self._unanswered else 0.0
        self._unanswered += 1
        limit_s = self._rule.between_s if self._answered else self._rule.starting_s
        hangs = self._unanswered >= ASKED_IN_VAIN and self._silent_s > limit_s
        return _words(limit_s) if hangs else None


def _words(limit_s: float) -> str:
    return f"it gave no sign of life for {limit_s:g} s"

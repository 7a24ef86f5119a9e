"""Log lines for people, or as JSON for programs: what happened, and to which job of which run.

Only named fields leave: a value that some caller hangs onto a log record stays where it is.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Final, Literal, TextIO

from skillopt.errors import ConfigError

LogFormat = Literal["text", "json"]

#: Where processes that have no option of their own read the format from.
FORMAT_VARIABLE: Final = "SKILLOPT_LOG_FORMAT"

#: What a line may be about, in this order: a job, or a request to the API.
SUBJECTS: Final = ("run", "job", "backend", "attempt", "worker")
REQUEST: Final = ("method", "path", "status", "caller", "milliseconds")

_TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
#: Of a value, people are shown as much.
_SHORT: Final = 64

Subject = str | int
_about: ContextVar[dict[str, Subject] | None] = ContextVar("log_about", default=None)


@contextmanager
def log_about(**subjects: Subject) -> Iterator[None]:
    """Say what every line of this thread (or coroutine) is about, until the block ends.

    What `note_subjects` adds within the block ends with it.
    """
    token = _about.set({**(_about.get() or {}), **subjects})
    try:
        yield
    finally:
        _about.reset(token)


def note_subjects(**subjects: Subject) -> None:
    """Add to what lines are about, once it is known; outside of `log_about` nothing happens."""
    present = _about.get()
    if present is not None:
        _about.set({**present, **subjects})


class SubjectFilter(logging.Filter):
    """Puts what a line is about onto its record; what the caller gave itself stays."""

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in (_about.get() or {}).items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class JsonLines(logging.Formatter):
    """One JSON object to a line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= _named(record, ("event", *SUBJECTS, *REQUEST))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


class TextLines(logging.Formatter):
    """A line for people, with what it is about at its end."""

    def __init__(self) -> None:
        super().__init__(_TEXT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own
        about = _named(record, (*SUBJECTS, *REQUEST))
        words = [f"{name}={str(value)[:_SHORT]}" for name, value in about.items() if value != ""]
        line = super().formatMessage(record)
        return f"{line} ({' '.join(words)})" if words else line


def _named(record: logging.LogRecord, names: Sequence[str]) -> dict[str, str | int | float]:
    found = {name: getattr(record, name, None) for name in names}
    return {name: value for name, value in found.items() if isinstance(value, str | int | float)}


def log_format(given: str) -> LogFormat:
    """Read the name of a format; raises ConfigError for an unknown one."""
    match given:
        case "text":
            return "text"
        case "json":
            return "json"
    raise ConfigError(f"log format {given!r} is not known; give text or json")


def set_up_logging(form: LogFormat, stream: TextIO | None = None) -> None:
    """Send what every logger says to `stream` (standard error), once for the process."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.addFilter(SubjectFilter())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.captureWarnings(True)

"""When a provider that is at its limit wants to be asked again, by the headers of its answer.

Retry-After and its relatives say it outright. Without them, the moments at which limits are reset
are taken: of those that are used up, the last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

#: Answers that mean "not now": the headers of others say nothing about a limit.
LIMITED = frozenset({429, 503, 529})

#: A hold that a provider asks for is for the whole fleet: a mistaken one must not stop it for days.
LONGEST_RETRY_AFTER_S = 3_600.0
#: How long a limit by the minute can take to recover, where no limit is known to be used up.
_LONGEST_REFILL_S = 60.0

_IN_MILLISECONDS = ("retry-after-ms", "x-ms-retry-after-ms")
_RESET = re.compile(
    r"(?:x-ratelimit-(?:reset-(?P<of>[a-z0-9_-]+)|reset)|anthropic-ratelimit-(?P<by>.+)-reset)\Z"
)
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|us|µs|ns|d|h|m|s))+\Z", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)", re.ASCII)
_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3_600.0,
    "d": 86_400.0,
}
#: Numbers from here on are seconds, or milliseconds, since 1970.
_FIRST_EPOCH_S = 1e9
_FIRST_EPOCH_MS = 1e12


def retry_after_s(status: int, headers: Mapping[str, str]) -> float | None:
    """Give the wait that an answer asks for, within bounds; None if it asks for none."""
    if status not in LIMITED:
        return None
    named = {name.lower(): value.strip() for name, value in headers.items()}
    for name in _IN_MILLISECONDS:
        milliseconds = _number(named.get(name, ""))
        if milliseconds is not None:
            return _bounded(milliseconds / 1000)
    now = datetime.now(UTC)
    asked = _asked_s(named.get("retry-after", ""), now)
    return asked if asked is not None else _until_reset_s(named, now)


def _asked_s(raw: str, now: datetime) -> float | None:
    seconds = _number(raw)
    if seconds is not None:
        return _bounded(seconds)
    try:
        return _bounded(_from_now(parsedate_to_datetime(raw), now))
    except (ValueError, OverflowError):
        return None


def _until_reset_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Take the last reset of the limits that are used up; if none is known to be, the last of all,
    but no longer than a limit by the minute needs.
    """
    used_up: list[float] = []
    others: list[float] = []
    for name, raw in headers.items():
        found = _RESET.match(name)
        wait_s = _reset_s(raw, now) if found else None
        if found is None or wait_s is None or wait_s <= 0:  # some say 0 for "unknown"
            continue
        left = _number(headers.get(_remaining(found), ""))
        (used_up if left == 0 else others).append(wait_s)
    if used_up:
        return _bounded(max(used_up))
    return min(_bounded(max(others)), _LONGEST_REFILL_S) if others else None


def _remaining(reset: re.Match[str]) -> str:
    """Name the header that says how much of the same limit is left."""
    if reset["by"]:
        return f"anthropic-ratelimit-{reset['by']}-remaining"
    return f"x-ratelimit-remaining-{reset['of']}" if reset["of"] else "x-ratelimit-remaining"


def _reset_s(raw: str, now: datetime) -> float | None:
    """Read a duration ("6m0s"), seconds, seconds or milliseconds since 1970, or a timestamp."""
    if _DURATION.match(raw):
        return math.fsum(float(figure) * _SECONDS[unit] for figure, unit in _PART.findall(raw))
    number = _number(raw)
    if number is not None:
        if number >= _FIRST_EPOCH_MS:
            number /= 1000
        return number - now.timestamp() if number >= _FIRST_EPOCH_S else number
    try:
        return _from_now(datetime.fromisoformat(raw), now)
    except (ValueError, OverflowError):
        return None


def _from_now(when: datetime, now: datetime) -> float:
    # A date without a zone, or with -0000, is in UTC.
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return (aware - now).total_seconds()


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number

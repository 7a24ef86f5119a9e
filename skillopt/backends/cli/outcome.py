"""Whether a run gave an answer; if not, which class of failure that is.

An answer is what the program reported as one, with exit code 0 and no terminal error. Everything
else raises: words that a program prints about a failure never count as the model's.
"""

from __future__ import annotations

import json
import re

from skillopt import guard
from skillopt.backends.cli.process import Finished
from skillopt.backends.cli.trace import Failure, Trace
from skillopt.backends.failures import Told, failure
from skillopt.backends.redaction import as_message
from skillopt.backends.retry_after import LONGEST_RETRY_AFTER_S
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)
from skillopt.guarded import exit_in_words

_STATUS = re.compile(r"(?:status:?|HTTP|API Error:?|error:?|rejected)[ (]+([45]\d\d)\b", re.I)
_RETRY_IN = re.compile(r"(?:try again|retry) (?:in|after):? (\d+(?:\.\d+)?) ?(ms|s|m|h)", re.I)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
#: Statuses by which a filter refuses what was asked.
_FILTERING = frozenset({400, 403, 422})
_FILTERED = re.compile(
    r"content[_ ]?filter|content management policy|content_policy|ResponsibleAI|usage policy", re.I
)
#: In this order: the first that matches says what it was.
_WORDS: tuple[tuple[re.Pattern[str], type[CallError]], ...] = tuple(
    (re.compile(pattern, re.I), kind)
    for pattern, kind in (
        (r"content[_ ]?filter|content management policy|ResponsibleAI", ContentFiltered),
        (
            r"not logged in|please run /login|invalid api key|failed to authenticate|"
            r"no authentication information|authentication failed|missing environment variable|"
            r"unauthorized|token (?:has )?(?:expired|been revoked|already been used)|"
            r"refresh token|credit balance is too low|insufficient_quota|sign in again",
            AuthFailed,
        ),
        (r"rate.?limit|too many requests|usage limit|hit your limit|quota", RateLimited),
        (
            r"unknown model|model .{0,80}(?:not found|does not exist|not supported|unavailable)",
            UnknownModel,
        ),
        (r"overloaded|high demand|internal server error|server.?side", ServerFailed),
        (
            r"connection|connect error|econn\w+|enotfound|eai_again|network|stream disconnected|"
            r"fetch failed|dns",
            ConnectionFailed,
        ),
        (r"timed? ?out|etimedout", CallTimeout),
        (
            r"unknown option|unexpected argument|invalid value|unrecognized option|config error|"
            r"error loading config|requires a local model provider|cannot be used with root",
            BadRequest,
        ),
    )
)


def answer_of(executable: str, finished: Finished, trace: Trace) -> str:
    """Give the answer of a run; raises a `CallError` if there is none."""
    if finished.code == guard.EXPIRED:
        raise CallTimeout(f"{executable!r} did not answer in time and was ended")
    if finished.code in (guard.NOT_FOUND, guard.CANNOT_EXECUTE):
        words = exit_in_words(finished.code)
        raise BadRequest(f"{executable!r}: {words}; install it, or give its path as executable")
    if trace.failure is not None:
        raise by_failure(trace.failure)
    if finished.code != 0 and trace.finish_reason != "max_turns":
        raise _by_exit(executable, finished, trace)
    if trace.answer is None:
        raise ServerFailed(f"{executable!r} ended without reporting an answer")
    return trace.answer


def by_failure(failure: Failure) -> CallError:
    """Give the class of a terminal error that a program reported."""
    status = failure.status or _status_in(failure.message)
    if status is not None:
        return _by_status(status, failure.message)
    return _by_words(f"{failure.kind} {failure.message}", failure.message)


def _by_exit(executable: str, finished: Finished, trace: Trace) -> CallError:
    said = "\n".join(filter(None, (trace.stray, finished.stderr)))
    status = _status_in(said)
    if status is not None:
        return _by_status(status, said)
    words = exit_in_words(finished.code)
    shown = (
        f"{executable!r}: {words}: {said[-2000:]}" if said.strip() else f"{executable!r}: {words}"
    )
    # A program that was killed said nothing about why.
    return ServerFailed(as_message(shown)) if finished.code > 128 else _by_words(said, shown)


def _by_status(status: int, said: str) -> CallError:
    if status == 404:
        # Which model was asked for is for the program to say.
        return UnknownModel(as_message(f"HTTP 404: {said}"))
    told = Told(
        status,
        message=said,
        filtered=status in _FILTERING and _FILTERED.search(said) is not None,
        no_credit="insufficient_quota" in said,
    )
    return failure(told, model="", wait_s=_retry_after_s(said))


def _by_words(said: str, shown: str) -> CallError:
    for pattern, kind in _WORDS:
        if pattern.search(said):
            if kind is AuthFailed:
                return AuthFailed("the program has no login that its provider accepts")
            after = _retry_after_s(said) if kind is RateLimited else None
            return kind(as_message(shown), retry_after_s=after)
    if _is_error_body(shown):
        return BadRequest(as_message(shown))
    return ServerFailed(as_message(shown))


def _status_in(said: str) -> int | None:
    found = _STATUS.search(said)
    return int(found.group(1)) if found else None


def _is_error_body(said: str) -> bool:
    """A refused request is reported as the provider's whole answer."""
    try:
        body = json.loads(said)
    except ValueError:
        return False
    return isinstance(body, dict) and "error" in body


def _retry_after_s(said: str) -> float | None:
    found = _RETRY_IN.search(said)
    if found is None:
        return None
    return min(float(found.group(1)) * _SECONDS[found.group(2).lower()], LONGEST_RETRY_AFTER_S)

"""Errors of the openai client in our terms.

Texts are cut and cleared of anything that looks like a key; a refused credential is reported
without the provider's words, which may quote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import openai

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

_KEY = re.compile(r"\b(sk|pk|key|ghp|eyJ)[-_A-Za-z0-9.*]{8,}")
_FILTER_CODES = {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
MESSAGE_LIMIT = 200


def translate(error: openai.OpenAIError, model: str) -> CallError:
    """Give the class of failure that an openai error means."""
    if isinstance(error, openai.APITimeoutError):
        return CallTimeout("the provider did not answer in time")
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, model)
    if isinstance(error, openai.APIConnectionError):
        cause = type(error.__cause__).__name__ if error.__cause__ else "no connection"
        return ConnectionFailed(f"the provider cannot be reached ({cause})")
    return ServerFailed(f"the provider's answer is not usable ({type(error).__name__})")


def _by_status(error: openai.APIStatusError, model: str) -> CallError:
    status, code = error.status_code, str(error.code or "")
    said = f"HTTP {status} {code}: {clean(error.message)}".replace(" :", ":")
    if status == 429 and code == "insufficient_quota":
        return AuthFailed("HTTP 429 insufficient_quota: the account has no credit left")
    if status == 429:
        return RateLimited(said, retry_after_s=retry_after_s(error.response.headers))
    if status in {401, 403}:
        return AuthFailed(f"HTTP {status}: the provider refused the credential")
    if status == 404:
        return UnknownModel(f"HTTP 404: the endpoint or the model {model!r} does not exist")
    if status in {400, 422}:
        return ContentFiltered(said) if code in _FILTER_CODES else BadRequest(said)
    if status in {408, 409, 425} or status >= 500:
        return ServerFailed(said, retry_after_s=retry_after_s(error.response.headers))
    return BadRequest(said)


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After in any of its forms: milliseconds, seconds, or a date."""
    milliseconds = headers.get("retry-after-ms")
    if milliseconds is not None:
        value = _number(milliseconds)
        return None if value is None else max(0.0, value / 1000)
    raw = headers.get("retry-after")
    if raw is None:
        return None
    seconds = _number(raw)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        when = parsedate_to_datetime(raw)
    except ValueError:
        return None
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def clean(text: str) -> str:
    """Cut a provider's text and hide what looks like a key."""
    return _KEY.sub("[hidden]", " ".join(str(text).split()))[:MESSAGE_LIMIT]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None

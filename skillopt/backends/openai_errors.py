"""Errors of the openai client in our terms.

Texts are cut and cleared of anything that looks like a key; a refused credential is reported
without the provider's words, which may quote it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import aiohttp
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
FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
MESSAGE_LIMIT = 200

#: A hold that a provider asks for is for the whole fleet: a mistaken one must not stop it for days.
LONGEST_RETRY_AFTER_S = 3_600.0


def translate(error: openai.OpenAIError, model: str, api_key: str | None = None) -> CallError:
    """Give the class of failure that an openai error means; `api_key` is kept out of its text."""
    if isinstance(error, openai.APIStatusError):
        return _by_status(error, model, api_key)
    if isinstance(error, openai.APIConnectionError):
        return _without_answer(error)
    return ServerFailed(f"the provider's answer is not usable ({type(error).__name__})")


def _without_answer(error: openai.APIConnectionError) -> CallError:
    """Tell a timeout from a broken connection by what the transport met.

    The client calls a refused or dropped connection of the aiohttp transport a timeout too.
    """
    met = error.__cause__ and (error.__cause__.__cause__ or error.__cause__)
    broken = isinstance(met, aiohttp.ClientError) and not isinstance(met, TimeoutError)
    if isinstance(error, openai.APITimeoutError) and not broken:
        return CallTimeout("the provider did not answer in time")
    name = type(met).__name__ if met else "no connection"
    return ConnectionFailed(f"the provider cannot be reached ({name})")


def _by_status(error: openai.APIStatusError, model: str, api_key: str | None) -> CallError:
    status, code = error.status_code, str(error.code or "")
    said = clean(f"HTTP {status} {code}: {error.message}".replace(" :", ":"), api_key)
    if status == 429 and "insufficient_quota" in {code, error.type}:
        return AuthFailed("HTTP 429 insufficient_quota: the account has no credit left")
    if status in {429, 529}:
        # Overload (529) asks for fewer calls at a time too.
        return RateLimited(said, retry_after_s=retry_after_s(error.response.headers))
    if status in {401, 403}:
        return AuthFailed(f"HTTP {status}: the provider refused the credential")
    if status == 404:
        return UnknownModel(f"HTTP 404: the endpoint or the model {model!r} does not exist")
    if status in {400, 422}:
        return ContentFiltered(said) if _by_filter(error) else BadRequest(said)
    if status in {408, 409, 425} or status >= 500:
        return ServerFailed(said, retry_after_s=retry_after_s(error.response.headers))
    return BadRequest(said)


def _by_filter(error: openai.APIStatusError) -> bool:
    """Whether the content filter refused: Azure may say so inside the error only."""
    inner = error.body.get("innererror") if isinstance(error.body, dict) else None
    inner_code = inner.get("code") if isinstance(inner, dict) else None
    return not FILTER_CODES.isdisjoint({str(error.code), str(inner_code)})


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Read Retry-After in any of its forms: milliseconds, seconds, or a date."""
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return _bounded(milliseconds / 1000)
    raw = headers.get("retry-after", "")
    seconds = _number(raw)
    if seconds is not None:
        return _bounded(seconds)
    try:
        when = parsedate_to_datetime(raw)
    except (ValueError, OverflowError):
        return None
    # A date without a zone, or with -0000, is in UTC.
    aware = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return _bounded((aware - datetime.now(UTC)).total_seconds())


def clean(text: str, api_key: str | None = None) -> str:
    """Cut a provider's text and hide the key and what looks like one."""
    shown = without_key(" ".join(str(text).split()), api_key)
    return _KEY.sub("[hidden]", shown)[:MESSAGE_LIMIT]


def without_key(text: str, api_key: str | None) -> str:
    """Hide one key in a text."""
    return text.replace(api_key, "[hidden]") if api_key else text


def _bounded(seconds: float) -> float:
    return min(max(0.0, seconds), LONGEST_RETRY_AFTER_S)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number

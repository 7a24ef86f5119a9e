"""Failures of a Messages server in our terms, without any key in their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp

from skillopt.backends.openai_errors import clean, retry_after_s
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

#: The API has no type for these refusals: it tells them from other bad requests by its words.
_FILTERED = re.compile(r"content[ -]filter", re.IGNORECASE)
_NO_CREDIT = re.compile(r"credit balance|usage limits?|spend(?:ing)? limit", re.IGNORECASE)
_SPEND_LIMIT = "enforced_spend_limit_reached"


@dataclass(frozen=True)
class Refused:
    """An answer that is an error."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def translate(refused: Refused, model: str, api_key: str | None) -> CallError:
    """Give the class of failure that a status and its body mean."""
    status = refused.status
    kind, message, code = _told(refused.body)
    said = clean(f"HTTP {status} {kind}: {message}".replace(" :", ":"), api_key)
    wait_s = retry_after_s(refused.headers)
    no_credit = status == 400 and _NO_CREDIT.search(message)
    if status == 402 or no_credit or (status == 429 and code == _SPEND_LIMIT):
        return AuthFailed(f"HTTP {status}: the account has no credit left")
    if status in {429, 529}:
        # Overload (529) is a request to slow down too, though not by a limit of ours.
        return RateLimited(said, retry_after_s=wait_s)
    if status in {401, 403}:
        return AuthFailed(f"HTTP {status}: the provider refused the credential")
    if status == 404:
        return UnknownModel(f"HTTP 404: the endpoint or the model {model!r} does not exist")
    if status == 400 and _FILTERED.search(message):
        return ContentFiltered(said)
    if status in {408, 409, 425} or status >= 500:
        return ServerFailed(said, retry_after_s=wait_s)
    if status < 400:
        return BadRequest(f"HTTP {status}: the server sends elsewhere; correct base_url")
    return BadRequest(said)


def without_answer(error: TimeoutError | aiohttp.ClientError) -> CallError:
    """Tell a timeout from a broken connection."""
    if isinstance(error, TimeoutError):
        return CallTimeout("the provider did not answer in time")
    return ConnectionFailed(f"the provider cannot be reached ({type(error).__name__})")


def _told(body: bytes) -> tuple[str, str, str]:
    """Read type, message and code of an error; empty texts where the body has another form."""
    try:
        raw = json.loads(body)
    except (ValueError, RecursionError):
        return "", "", ""
    error = raw.get("error") if isinstance(raw, dict) else None
    if not isinstance(error, dict):
        return "", "", ""
    details = error.get("details")
    code = details.get("error_code") if isinstance(details, dict) else None
    return str(error.get("type") or ""), str(error.get("message") or ""), str(code or "")

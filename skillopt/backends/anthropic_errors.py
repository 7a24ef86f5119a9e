"""Failures of a Messages server in our terms, without any key in their texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

import aiohttp

from skillopt.backends.failures import Told, failure, told_by
from skillopt.backends.retry_after import retry_after_s
from skillopt.errors import CallError, CallTimeout, ConnectionFailed

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


def translate(
    refused: Refused, model: str, api_key: str | None, *, form_asked: bool = False
) -> CallError:
    """Give the class of failure that a status and its body mean."""
    wait_s = retry_after_s(refused.status, refused.headers)
    told = told_in(_json(refused.body), refused.status)
    return failure(told, model, api_key, wait_s=wait_s, form_asked=form_asked)


def told_in(raw: object, status: int, *, within_200: bool = False) -> Told:
    """Read an error of the API; of a body in another form, what can be understood."""
    error = raw.get("error", raw) if isinstance(raw, Mapping) else raw
    told = told_by(error, status, within_200=within_200)
    details = error.get("details") if isinstance(error, Mapping) else None
    spent = isinstance(details, Mapping) and details.get("error_code") == _SPEND_LIMIT
    bad = told.status == 400
    return replace(
        told,
        code=told.code or told.kind,
        filtered=told.filtered or (bad and _FILTERED.search(told.message) is not None),
        no_credit=told.no_credit or spent or (bad and _NO_CREDIT.search(told.message) is not None),
    )


def without_answer(error: TimeoutError | aiohttp.ClientError) -> CallError:
    """Tell a timeout from a broken connection."""
    if isinstance(error, TimeoutError):
        return CallTimeout("the provider did not answer in time")
    name = type(error).__name__
    # A connection that was never made carried nothing.
    sent = not isinstance(error, aiohttp.ClientConnectorError)
    return ConnectionFailed(f"the provider cannot be reached ({name})", may_be_billed=sent)


def _json(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None

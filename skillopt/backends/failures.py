"""Which class of failure an error of a provider is, whatever API it came by.

Texts are cut and cleared of anything that looks like a key; a refused credential is reported
without the provider's words, which may quote it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.backends.redaction import HIDDEN, as_message, without
from skillopt.backends.reply_format import FIX, refuses_the_form
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)

#: Fewer characters of a key say nothing about it.
_SHORTEST_BEGINNING = 8
#: Codes and types by which a filter refuses what was asked.
FILTER_CODES = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "data_inspection_failed",
        "image_content_policy_violation",
        "invalid_prompt",
        "ResponsibleAIPolicyViolation",
    }
)
_FILTER_WORDS = re.compile(r"content[ _-]filter|ContentPolicyViolation|content management policy")
#: Codes and types that mean an account without money: no wait mends that.
_NO_CREDIT = frozenset(
    {
        "billing_error",
        "billing_hard_limit_reached",
        "billing_not_active",
        "budget_exceeded",
        "insufficient_quota",
    }
)
_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error"})
#: The status that a code or type stands for, where an error comes with status 200.
_STATUS_OF = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
}


@dataclass(frozen=True)
class Told:
    """What an error says: `status` is the answer's, or the one that its code stands for."""

    status: int
    code: str = ""
    kind: str = ""
    message: str = ""
    filtered: bool = False
    no_credit: bool = False
    #: It came with an answer that looked like a success.
    within_200: bool = False

    @property
    def shown(self) -> str:
        first = "HTTP 200 with an error" if self.within_200 else f"HTTP {self.status}"
        code = "" if self.code == str(self.status) else self.code
        return f"{first} {code}".rstrip() + (f": {self.message}" if self.message else "")


def told_by(body: object, status: int, *, within_200: bool = False) -> Told:
    """Read an error object; servers write it in many ways (`detail`, numbers as codes …)."""
    if not isinstance(body, Mapping):
        message = body if isinstance(body, str) else ""
        return Told(status, message=message, within_200=within_200)
    code, kind = _word(body.get("code")), _word(body.get("type"))
    message = _word(body.get("message") or body.get("detail") or body.get("error"))
    inner = _field(body.get("innererror"), "code")
    flagged = isinstance(body.get("metadata"), Mapping) and "flagged_input" in body["metadata"]
    if within_200:
        status = _status_of(code, kind, status)
    names = {code, kind, inner}
    return Told(
        status,
        code,
        kind,
        message,
        filtered=flagged
        or not FILTER_CODES.isdisjoint(names)
        or (status in {400, 403, 422} and _FILTER_WORDS.search(message) is not None),
        no_credit=not _NO_CREDIT.isdisjoint(names),
        within_200=within_200,
    )


def failure(
    told: Told,
    model: str,
    api_key: str | None = None,
    *,
    wait_s: float | None = None,
    form_asked: bool = False,
) -> CallError:
    """Give the class of an error; `api_key` is kept out of its text."""
    said = as_message(without_key(told.shown, api_key))
    if told.no_credit or told.status == 402:
        return AuthFailed(f"HTTP {told.status}: the account has no credit left; see to its billing")
    if told.filtered:
        return ContentFiltered(said)
    if told.status in {401, 403}:
        return AuthFailed(f"HTTP {told.status}: the provider refused the credential")
    if form_asked and refuses_the_form(told.status, f"{told.code} {told.message}"):
        return BadRequest(f"{said[:120]} -- it cannot answer in the form asked for; {FIX}")
    if not _TOO_LONG.isdisjoint({told.code, told.kind}):
        return BadRequest(said)
    return _by_status(told.status, said, model, wait_s)


def _by_status(status: int, said: str, model: str, wait_s: float | None) -> CallError:
    if status in {429, 529}:
        # Overload (529) asks for fewer calls at a time too.
        return RateLimited(said, retry_after_s=wait_s)
    if status == 404:
        return UnknownModel(f"HTTP 404: the endpoint or the model {model!r} does not exist")
    if status in {408, 409, 425} or status >= 500:
        # Whoever waited for the model in vain cannot say what became of the reply.
        late = status in {408, 504, 524}
        return ServerFailed(said, retry_after_s=wait_s, may_be_billed=late)
    if status < 400:
        return BadRequest(f"HTTP {status}: the server sends elsewhere; correct base_url")
    return BadRequest(said)


def without_key(text: str, api_key: str | None) -> str:
    """Hide one key in an error's text, however short it is, also where the text was cut in it."""
    hidden = without(text, [api_key], shortest=1)
    for length in range(len(api_key or "") - 1, _SHORTEST_BEGINNING - 1, -1):
        if api_key and hidden.endswith(api_key[:length]):
            return f"{hidden[:-length]}{HIDDEN}"
    return hidden


def _status_of(code: str, kind: str, default: int) -> int:
    if code.isascii() and code.isdigit() and 400 <= int(code[:4]) < 600:
        return int(code)
    return _STATUS_OF.get(code, _STATUS_OF.get(kind, default))


def _word(value: Any) -> str:  # noqa: ANN401 - servers answer with anything
    return "" if value is None else str(value)


def _field(value: object, name: str) -> str:
    return _word(value.get(name)) if isinstance(value, Mapping) else ""

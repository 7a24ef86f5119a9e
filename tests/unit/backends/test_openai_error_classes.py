"""Errors of the client in our terms, from answers made by hand."""

from __future__ import annotations

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.openai_errors import translate
from skillopt.backends.redaction import MESSAGE_LIMIT, as_message
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)

REQUEST = httpx2.Request("POST", "http://127.0.0.1/v1/chat/completions")


def status_error(status: int, *, code: str | None = None, message: str = "no", kind: str = ""):
    response = httpx2.Response(status, request=REQUEST)
    body = {"message": message, "code": code, "type": kind}
    return openai.APIStatusError(message, response=response, body=body)


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (400, None, BadRequest),
        (400, "content_filter", ContentFiltered),
        (400, "content_policy_violation", ContentFiltered),
        (422, "ResponsibleAIPolicyViolation", ContentFiltered),
        (401, "invalid_api_key", AuthFailed),
        (403, None, AuthFailed),
        (404, "model_not_found", UnknownModel),
        (405, None, BadRequest),
        (408, None, ServerFailed),
        (409, None, ServerFailed),
        (413, None, BadRequest),
        (422, None, BadRequest),
        (425, None, ServerFailed),
        (429, "rate_limit_exceeded", RateLimited),
        (429, None, RateLimited),
        (429, "insufficient_quota", AuthFailed),
        (500, None, ServerFailed),
        (502, None, ServerFailed),
        (503, None, ServerFailed),
        (504, None, ServerFailed),
        (529, None, RateLimited),
    ],
)
def test_a_status_means_one_class_of_failure(status, code, expected) -> None:
    assert type(translate(status_error(status, code=code), "m")) is expected


def test_a_used_up_quota_is_known_by_its_type_alone() -> None:
    assert type(translate(status_error(429, kind="insufficient_quota"), "m")) is AuthFailed


def test_errors_that_are_not_answers() -> None:
    refused = openai.APIConnectionError(request=REQUEST)
    assert type(translate(refused, "m")) is ConnectionFailed
    assert type(translate(openai.OpenAIError("odd"), "m")) is ServerFailed


@given(st.integers(min_value=400, max_value=599), st.text(), st.text(max_size=400))
def test_no_key_is_in_any_text(status: int, code: str, around: str) -> None:
    key = "opaque/secret+value=="
    error = status_error(status, code=f"{code} {key}", message=f"{around} {key} {around}")
    said = translate(error, "m", key)
    assert isinstance(said, CallError)
    assert key not in str(said)
    assert len(str(said)) <= MESSAGE_LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefgh12345678.",
        "Incorrect API key provided: sk-proj-********************5678.",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0 is expired",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    assert "[hidden]" in as_message(text)
    assert "5678" not in as_message(text)
    assert "eyJ" not in as_message(text)


def test_texts_stay_on_one_line() -> None:
    assert as_message("a\n b\tc") == "a b c"

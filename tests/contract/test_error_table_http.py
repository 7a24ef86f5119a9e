"""The error table of the HTTP kinds, row by row: each failure has one class, and none is an answer.

Every row is asked of every kind by its real client over real HTTP. A failure makes one request,
shows no key, and raises the class that says whether another try is worth it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from aiohttp import web
from canned_provider import (
    KEY,
    Answer,
    answering,
    canned,
    dropping,
    dropping_in_the_middle,
    hanging,
)
from wire_kinds import HTTP_WIRES, MESSAGES, Wire, ask, named

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

every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))

RETRIED = (RateLimited, ServerFailed, CallTimeout, ConnectionFailed)


@dataclass(frozen=True)
class Row:
    """One line of the table: what the provider answers, and what that is."""

    case: str
    answer: Callable[[Wire], Answer]
    expected: type[CallError]
    words: str = ""


def refusing(
    status: int, message: str, code: str | None = None, kind: str = "", **headers: str
) -> Callable[[Wire], Answer]:
    return lambda wire: canned(
        wire.error(status, f"{message} {KEY}", code, kind), status=status, **headers
    )


def saying(text: str, status: int = 200) -> Callable[[Wire], Answer]:
    return lambda _: canned(text=text, status=status)


def always(answer: Answer) -> Callable[[Wire], Answer]:
    return lambda _: answer


def out_of_credit(wire: Wire) -> Answer:
    """No wait mends it, though OpenAI gives it the status of a limit."""
    if wire.speaks_messages:
        message = "Your credit balance is too low to access the API."
        return refusing(400, message, kind="invalid_request_error")(wire)
    return refusing(429, "You exceeded your current quota", "insufficient_quota")(wire)


def filtered(wire: Wire) -> Answer:
    if wire.speaks_messages:
        return refusing(400, "Output blocked by content filtering policy")(wire)
    if wire.kind.startswith("azure"):
        inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
        error = {"message": "filtered", "code": "content_filter", "innererror": inner}
        return canned({"error": error}, status=400)
    return refusing(400, "flagged", "content_policy_violation")(wire)


def error_with_200(code: str, message: str, *, number: int | None = None) -> Callable[..., Answer]:
    def answer(wire: Wire) -> Answer:
        if wire.speaks_messages:
            return canned({"type": "error", "error": {"type": code, "message": message}})
        return canned({"error": {"message": message, "code": number or code}})

    return answer


def cut_json(wire: Wire) -> Answer:
    whole = '{"choices": [{"message": {"content": "hello"}}], "output": [], "content": [{"type'
    return canned(text=whole)


async def dripping(request: web.Request) -> web.StreamResponse:
    """Send a little again and again: no piece is late, only the whole."""
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    await response.prepare(request)
    while True:
        await response.write(b" ")
        await asyncio.sleep(0.02)


ROWS = (
    Row("400 bad request", refusing(400, "bad value"), BadRequest, "400"),
    Row(
        "400 prompt too long",
        refusing(400, "too long", "context_length_exceeded"),
        BadRequest,
        "400",
    ),
    Row("400 content filter (input)", filtered, ContentFiltered, "400"),
    Row(
        "401 wrong key",
        refusing(401, "Incorrect key", "invalid_api_key", "authentication_error"),
        AuthFailed,
        "refused the credential",
    ),
    Row("402 payment required", refusing(402, "pay", kind="billing_error"), AuthFailed, "billing"),
    Row(
        "403 no permission",
        refusing(403, "no", kind="permission_error"),
        AuthFailed,
        "refused the credential",
    ),
    Row(
        "404 unknown model or deployment",
        refusing(404, "no such", "DeploymentNotFound", "not_found_error"),
        UnknownModel,
        "does not exist",
    ),
    Row("405 wrong method", refusing(405, "no"), BadRequest),
    Row("408 request timeout", refusing(408, "slow"), ServerFailed),
    Row("409 conflict", refusing(409, "again"), ServerFailed),
    Row("413 too large", refusing(413, "big", kind="request_too_large"), BadRequest),
    Row("422 unprocessable", refusing(422, "no"), BadRequest),
    Row("429 without Retry-After", refusing(429, "slow down", "rate_limit_exceeded"), RateLimited),
    Row("429 with Retry-After", refusing(429, "slow down", Retry_After="7"), RateLimited),
    Row("429 out of credit", out_of_credit, AuthFailed, "billing"),
    Row("500 server error", refusing(500, "broke"), ServerFailed),
    Row("502 bad gateway in HTML", saying("<html>Bad gateway</html>", 502), ServerFailed, "502"),
    Row("503 unavailable", refusing(503, "away"), ServerFailed),
    Row("503 without a body", saying("", 503), ServerFailed, "503"),
    Row("504 gateway timeout", refusing(504, "slow", kind="timeout_error"), ServerFailed),
    Row("529 overloaded", refusing(529, "Overloaded", kind="overloaded_error"), RateLimited),
    Row("the connection is reset at once", always(dropping), ConnectionFailed),
    Row("the connection is reset mid-body", always(dropping_in_the_middle), ConnectionFailed),
    Row("200 with cut JSON", cut_json, ServerFailed, "not JSON"),
    Row("200 with HTML", saying("<html><body>It works!</body></html>"), ServerFailed, "not JSON"),
    Row("200 with an empty body", saying(""), ServerFailed, "not JSON"),
    Row("200 with null", always(canned(None)), ServerFailed, "usable"),
    Row("200 with an error object", error_with_200("api_error", "broke"), ServerFailed, "broke"),
    Row(
        "200 with an error that is a limit",
        error_with_200("rate_limit_error", "slow down", number=429),
        RateLimited,
    ),
    Row(
        "200 with an error that is a refused key",
        error_with_200("authentication_error", "no", number=401),
        AuthFailed,
    ),
)


@every_kind
@pytest.mark.parametrize("row", ROWS, ids=[row.case for row in ROWS])
def test_a_failure_has_its_class(wire: Wire, row: Row) -> None:
    with answering(row.answer(wire)) as provider:
        with pytest.raises(CallError) as raised:
            ask(wire.backend(provider.root_url))
        assert len(provider.received) == 1, "the SDK must not retry"
    assert type(raised.value) is row.expected
    assert raised.value.retryable is issubclass(row.expected, RETRIED)
    assert row.words in str(raised.value)
    assert KEY not in str(raised.value)
    assert len(str(raised.value)) <= 200


# --- no answer at all ---------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("answer", [hanging, dripping], ids=["nothing comes", "it never ends"])
def test_an_answer_that_is_not_whole_in_time_is_a_timeout(wire: Wire, answer: Answer) -> None:
    with answering(answer) as provider:
        with pytest.raises(CallTimeout):
            ask(wire.backend(provider.root_url, timeout_s=0.3))
        assert len(provider.received) == 1


@every_kind
def test_a_connection_that_is_never_made_is_a_timeout(wire: Wire) -> None:
    with socket.socket() as silent:  # accepts, and never says a word of TLS
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(CallTimeout):
            ask(wire.backend(f"https://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.3))


@every_kind
def test_a_refused_connection(wire: Wire) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionFailed, match="ClientConnectorError"):
            ask(wire.backend(f"http://127.0.0.1:{unused.getsockname()[1]}"))


@every_kind
def test_a_name_that_nobody_knows(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    for variable in ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    backend = wire.backend("https://unknown.invalid", allowed_hosts=("unknown.invalid",))
    with pytest.raises(ConnectionFailed, match="DNSError"):
        ask(backend)


# --- answers: the model's own, however they end ---------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("finish", "text", "refused"),
    [
        ("stop", "", False),
        ("length", "Once", False),
        ("length", "", False),
        ("content_filter", "Once", True),
        ("content_filter", "", True),
    ],
    ids=[
        "an empty answer",
        "cut at its limit",
        "all of its limit went into thoughts",
        "filtered output",
        "filtered before its first word",
    ],
)
def test_an_end_of_the_models_own_is_an_answer(
    wire: Wire, finish: str, text: str, refused: bool
) -> None:
    with answering(canned(wire.answer(text, finish))) as provider:
        reply = ask(wire.backend(provider.root_url))
    assert (reply.text, reply.refused) == (text, refused)
    if wire is not MESSAGES or not refused:
        assert reply.finish_reason == finish


@every_kind
def test_a_refusal_is_an_answer(wire: Wire) -> None:
    body = wire.answer("", "content_filter")
    if wire.speaks_responses:
        part = {"type": "refusal", "refusal": "No."}
        body = {"status": "completed", "output": [{"type": "message", "content": [part]}]}
    elif not wire.speaks_messages:
        message = {"role": "assistant", "content": None, "refusal": "No."}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    with answering(canned(body)) as provider:
        reply = ask(wire.backend(provider.root_url))
    assert reply.refused
    assert reply.text == ""

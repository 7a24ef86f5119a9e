"""The real client over real HTTP: what is sent, and what becomes of every kind of answer."""

from __future__ import annotations

import socket
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from canned_provider import (
    KEY,
    answering,
    ask,
    canned,
    completion,
    dropping,
    dropping_in_the_middle,
    failing,
    hanging,
)

from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
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
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

#: A key in no known form: only who has it can keep it out of a text.
OPAQUE_KEY = "planted/opaque+key=="
HELLO = completion({"role": "assistant", "content": "hello"})


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [KEY, OPAQUE_KEY])
@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "invalid_api_key", AuthFailed),
        (403, None, AuthFailed),
        (404, "model_not_found", UnknownModel),
        (400, None, BadRequest),
        (400, "content_filter", ContentFiltered),
        (413, None, BadRequest),
        (422, None, BadRequest),
        (429, "insufficient_quota", AuthFailed),
        (429, "rate_limit_exceeded", RateLimited),
        (408, None, ServerFailed),
        (409, None, ServerFailed),
        (500, None, ServerFailed),
        (503, None, ServerFailed),
        (529, None, RateLimited),
    ],
)
def test_one_request_one_error_of_its_class_and_no_key_in_it(status, code, expected, key) -> None:
    quoting = failing(status, f"the key {key} of {key} is at fault", code)
    with answering(quoting) as provider:
        with pytest.raises(CallError) as raised:
            ask(provider.base_url, key=key)
        assert type(raised.value) is expected
        assert len(provider.received) == 1, "the SDK must not retry"
        assert provider.received[0].headers["authorization"] == f"Bearer {key}"
    assert key not in str(raised.value)
    assert str(status) in str(raised.value)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"retry_after_ms": "1250", "Retry_After": "2"}, 1.25),
        ({}, None),
        ({"Retry_After": "tomorrow"}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_read(status: int, headers, seconds) -> None:
    with (
        answering(failing(status, **headers)) as provider,
        pytest.raises((RateLimited, ServerFailed)) as raised,
    ):
        ask(provider.base_url)
    assert raised.value.retry_after_s == seconds


def test_retry_after_may_be_a_date() -> None:
    when = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    with (
        answering(failing(429, Retry_After=when)) as provider,
        pytest.raises(RateLimited) as raised,
    ):
        ask(provider.base_url)
    assert 60 < (raised.value.retry_after_s or 0) <= 100


def test_no_answer_in_time() -> None:
    with answering(hanging) as provider:
        with pytest.raises(CallTimeout):
            ask(provider.base_url, timeout_s=0.2)
        assert len(provider.received) == 1


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(ConnectionFailed, match="ClientConnectorError"):
            ask(f"http://127.0.0.1:{port}/v1")


@pytest.mark.parametrize("answer", [dropping, dropping_in_the_middle])
def test_a_connection_that_is_cut(answer) -> None:
    with answering(answer) as provider:
        with pytest.raises(ConnectionFailed):
            ask(provider.base_url)
        assert len(provider.received) == 1


@pytest.mark.parametrize(
    "answer",
    [
        canned(text="<html><body>It works!</body></html>"),
        canned(text=""),
        canned({}),
        canned({"error": {"message": "overloaded"}}),
        canned({"choices": []}),
        canned({"choices": [None]}),
        canned(None),
        canned([]),
        canned(completion(None)),
        canned(text="<html>Bad gateway</html>", status=502),
    ],
)
def test_an_answer_without_a_message_is_the_servers_failure(answer) -> None:
    with answering(answer) as provider:
        with pytest.raises(ServerFailed):
            ask(provider.base_url)
        assert len(provider.received) == 1


# --- answers ------------------------------------------------------------------------------------


def test_null_content_is_an_empty_answer() -> None:
    with answering(canned(completion({"content": None}))) as provider:
        assert ask(provider.base_url).text == ""


def test_a_refusal_is_an_answer() -> None:
    with answering(canned(completion({"content": None, "refusal": "No."}))) as provider:
        assert ask(provider.base_url).refused


@pytest.mark.parametrize(("reason", "refused"), [("content_filter", True), ("length", False)])
def test_a_cut_answer_is_an_answer(reason: str, refused: bool) -> None:
    with answering(canned(completion({"content": "Once"}, reason))) as provider:
        reply = ask(provider.base_url)
    assert (reply.text, reply.finish_reason, reply.refused) == ("Once", reason, refused)


def test_tool_calls_with_bad_arguments_are_kept_as_they_came() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": '}}
    with answering(canned(completion({"content": None, "tool_calls": [call]}))) as provider:
        reply = ask(provider.base_url)
    assert reply.tool_calls == (ToolCall(id="c1", name="f", arguments='{"a": '),)


def test_usage_is_what_the_provider_says() -> None:
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    cached = {**usage, "prompt_tokens_details": {"cached_tokens": 8}}
    for said, expected in ((usage, Usage(9, 4)), (cached, Usage(9, 4, 8))):
        with answering(canned({**HELLO, "usage": said})) as provider:
            assert ask(provider.base_url).usage == expected
    with answering(canned(HELLO)) as provider:
        assert ask(provider.base_url).usage.estimated


# --- the simulator ------------------------------------------------------------------------------


def simulated(**options: Any) -> Any:
    return running(SimulatorOptions(**options))


def test_the_simulator_answers_as_a_provider_does() -> None:
    with simulated(api_key=KEY) as provider:
        reply = ask(provider.base_url)
        assert reply.text
        assert reply.finish_reason == "stop"
        assert reply.usage.input_tokens > 0
        assert not reply.usage.estimated
        assert ask(provider.base_url) == reply


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"api_key": "another"}, AuthFailed),
        ({"models": ("other",)}, UnknownModel),
        ({"content_filter": "hello"}, ContentFiltered),
        ({"error_rate": 1.0}, ServerFailed),
        ({"drop_rate": 1.0}, ConnectionFailed),
    ],
)
def test_faults_of_the_simulator(options, expected) -> None:
    with simulated(**options) as provider, pytest.raises(CallError) as raised:
        ask(provider.base_url)
    assert type(raised.value) is expected
    assert KEY not in str(raised.value)


def test_a_limit_of_the_simulator_says_when_to_come_again() -> None:
    with simulated(rpm=1, window_s=30) as provider:
        ask(provider.base_url)
        with pytest.raises(RateLimited) as raised:
            ask(provider.base_url)
    assert 20 < (raised.value.retry_after_s or 0) <= 30

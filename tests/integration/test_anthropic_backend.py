"""The Messages backend over real HTTP: every kind of answer, and the simulator as provider."""

from __future__ import annotations

import json
import socket
import urllib.request
from typing import Any

import pytest
from canned_provider import (
    KEY,
    PROMPT,
    Answer,
    answering,
    ask,
    canned,
    dropping,
    dropping_in_the_middle,
    hanging,
)

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall
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
LIMITED = Params(max_output_tokens=1024)


def call(base_url: str, **changes: Any) -> ChatReply:
    return ask(base_url, **{"kind": "anthropic_messages", "params": LIMITED, **changes})


def failing(status: int, kind: str, message: str, *, code: str = "", **headers: str) -> Answer:
    error: dict[str, Any] = {"type": kind, "message": message}
    if code:
        error["details"] = {"error_code": code}
    return canned({"type": "error", "error": error}, status=status, **headers)


def message(*content: Any, stop_reason: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    usage = {"input_tokens": 9, "output_tokens": 4}
    return {
        "type": "message",
        "content": blocks,
        "stop_reason": stop_reason,
        "usage": usage,
    } | fields


def answered(body: Any, **changes: Any) -> ChatReply:
    with answering(canned(body)) as provider:
        return call(provider.base_url, **changes)


# --- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [KEY, OPAQUE_KEY])
@pytest.mark.parametrize(
    ("status", "kind", "words", "expected"),
    [
        (400, "invalid_request_error", "max_tokens: too large", BadRequest),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", BadRequest),
        (400, "invalid_request_error", "Output blocked by content filtering policy",
         ContentFiltered),
        (400, "invalid_request_error", "Your credit balance is too low to access the API",
         AuthFailed),
        (400, "invalid_request_error", "You have reached your specified API usage limits.",
         AuthFailed),
        (401, "authentication_error", "invalid x-api-key", AuthFailed),
        (402, "billing_error", "pay", AuthFailed),
        (403, "permission_error", "no", AuthFailed),
        (404, "not_found_error", "model: x", UnknownModel),
        (408, "timeout_error", "slow", ServerFailed),
        (409, "conflict_error", "again", ServerFailed),
        (413, "request_too_large", "Request exceeds the maximum size", BadRequest),
        (422, "invalid_request_error", "no", BadRequest),
        (429, "rate_limit_error", "slow down", RateLimited),
        (500, "api_error", "Internal server error", ServerFailed),
        (503, "api_error", "away", ServerFailed),
        (504, "timeout_error", "timed out", ServerFailed),
        (529, "overloaded_error", "Overloaded", RateLimited),
        (307, "", "", BadRequest),
    ],
)  # fmt: skip
def test_one_request_one_error_of_its_class_and_no_key_in_it(
    status, kind, words, expected, key
) -> None:
    quoting = failing(status, kind, f"{words} {key} of {key}", Location="/v1/chat/completions")
    with answering(quoting) as provider:
        with pytest.raises(CallError) as raised:
            call(provider.base_url, key=key)
        assert type(raised.value) is expected
        [received] = provider.received  # neither a retry nor a redirect that was followed
        assert received.headers["x-api-key"] == key
        assert "authorization" not in received.headers
    assert key not in str(raised.value)
    assert str(status) in str(raised.value)


def test_a_limit_of_spending_is_no_limit_of_speed() -> None:
    spent = failing(429, "rate_limit_error", "no", code="enforced_spend_limit_reached")
    with answering(spent) as provider, pytest.raises(AuthFailed, match="no credit left"):
        call(provider.base_url)


@pytest.mark.parametrize(
    ("status", "expected"), [(429, RateLimited), (529, RateLimited), (503, ServerFailed)]
)
def test_retry_after_is_read(status, expected) -> None:
    busy = failing(status, "overloaded_error", "busy", Retry_After="7")
    with answering(busy) as provider, pytest.raises(expected) as raised:
        call(provider.base_url)
    assert raised.value.retry_after_s == 7.0


@pytest.mark.parametrize(
    ("body", "status"),
    [("<html>Bad gateway</html>", 502), ("[]", 500), ('{"error": "no"}', 504), ("", 503)],
)
def test_an_error_of_any_form_has_its_class(body, status) -> None:
    with answering(canned(text=body, status=status)) as provider, pytest.raises(ServerFailed):
        call(provider.base_url)


def test_no_answer_in_time() -> None:
    with answering(hanging) as provider:
        with pytest.raises(CallTimeout):
            call(provider.base_url, timeout_s=0.2)
        assert len(provider.received) == 1


def test_nobody_listens() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        with pytest.raises(ConnectionFailed, match="ClientConnectorError"):
            call(f"http://127.0.0.1:{unused.getsockname()[1]}")


@pytest.mark.parametrize("answer", [dropping, dropping_in_the_middle])
def test_a_connection_that_is_cut(answer) -> None:
    with answering(answer) as provider:
        with pytest.raises(ConnectionFailed):
            call(provider.base_url)
        assert len(provider.received) == 1


@pytest.mark.parametrize(
    "answer",
    [
        canned(text="<html><body>It works!</body></html>"),
        canned(text=""),
        canned({}),
        canned({"type": "error", "error": {"type": "api_error", "message": "broke"}}),
        canned({"content": None}),
        canned({"content": "hello"}),
        canned({"content": [None]}),
        canned(None),
        canned([]),
    ],
)
def test_an_answer_without_a_message_is_the_servers_failure(answer) -> None:
    with answering(answer) as provider, pytest.raises(ServerFailed):
        call(provider.base_url)


# --- answers ------------------------------------------------------------------------------------


def test_texts_are_joined_and_thoughts_are_no_answer() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    reply = answered(message(thought, "Good ", "day."))
    assert (reply.text, reply.finish_reason, reply.refused) == ("Good day.", "stop", False)


@pytest.mark.parametrize(
    ("stop_reason", "finish_reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        ("something_new", "something_new"),
        (None, "stop"),
    ],
)
def test_reasons_to_stop_have_one_name_over_all_backends(stop_reason, finish_reason) -> None:
    reply = answered(message("Once", stop_reason=stop_reason))
    assert (reply.text, reply.finish_reason) == ("Once", finish_reason)
    assert reply.refused is (stop_reason == "refusal")


def test_an_empty_answer_is_an_answer() -> None:
    assert answered(message()).text == ""


def test_calls_of_tools_are_read() -> None:
    use = {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": "é"}}
    reply = answered(
        message("Wait.", use, {**use, "id": "", "input": None}, stop_reason="tool_use")
    )
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="t1", name="look", arguments='{"q": "\\u00e9"}'),
        ToolCall(id="call_1", name="look", arguments="{}"),
    )


def test_usage_counts_all_input_and_what_of_it_was_cached() -> None:
    plain = {"input_tokens": 9, "output_tokens": 4}
    cached = {**plain, "cache_read_input_tokens": 8, "cache_creation_input_tokens": 2}
    absent = {**plain, "cache_read_input_tokens": None, "cache_creation_input_tokens": None}
    assert answered(message("x", usage=plain)).usage == Usage(9, 4)
    assert answered(message("x", usage=cached)).usage == Usage(19, 4, 8)
    assert answered(message("x", usage=absent)).usage == Usage(9, 4)
    assert answered(message("x", usage=None)).usage.estimated
    assert answered(message("x", usage={"input_tokens": -1})).usage.estimated


# --- the simulator ------------------------------------------------------------------------------


def simulated(**options: Any) -> Any:
    return running(SimulatorOptions(**options))


def test_the_simulator_answers_as_in_chat_completions() -> None:
    with simulated(api_key=KEY) as provider:
        reply = call(provider.base_url)
        assert reply == call(provider.root_url), "the base URL may leave /v1 out"
        assert reply == ask(provider.base_url)
        assert reply.text
        assert reply.finish_reason == "stop"
        assert reply.usage.input_tokens > 0
        assert not reply.usage.estimated
        assert call(provider.base_url, sample=3).text != reply.text


def test_a_whole_talk_with_a_tool_ends_in_an_answer_even_when_no_tool_is_offered_any_more() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
    tools = (Tool(name="look", description="Look.", parameters=schema),)
    talk = [Message(role="system", content='Always call the tool "look" first.'), *PROMPT]
    with simulated() as provider:
        turn = call(provider.base_url, messages=tuple(talk), tools=tools)
        [used] = turn.tool_calls
        assert (used.name, turn.finish_reason) == ("look", "tool_calls")
        talk.append(Message(role="assistant", content=turn.text, tool_calls=turn.tool_calls))
        talk.append(Message(role="tool", content="It is 4711", tool_call_id=used.id))
        for offered in (tools, ()):
            final = call(provider.base_url, messages=tuple(talk), tools=offered)
            assert "4711" in final.text
            assert final.tool_calls == ()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"api_key": "another"}, AuthFailed),
        ({"models": ("other",)}, UnknownModel),
        ({"content_filter": "hello"}, ContentFiltered),
        ({"error_rate": 1.0}, ServerFailed),
        ({"drop_rate": 1.0}, ConnectionFailed),
        ({"stall_rate": 1.0}, CallTimeout),
    ],
)
def test_faults_of_the_simulator(options, expected) -> None:
    with simulated(**options) as provider, pytest.raises(CallError) as raised:
        call(provider.base_url, timeout_s=0.5)
    assert type(raised.value) is expected
    assert KEY not in str(raised.value)


def test_a_limit_of_the_simulator_says_when_to_come_again() -> None:
    with simulated(rpm=1, window_s=30) as provider:
        call(provider.base_url)
        with pytest.raises(RateLimited) as raised:
            call(provider.base_url)
    assert 20 < (raised.value.retry_after_s or 0) <= 30


@pytest.mark.parametrize(("kind", "expected"), [("500", ServerFailed), ("529", RateLimited)])
def test_an_outage_of_the_simulator_passes(kind, expected) -> None:
    with simulated() as provider:
        asked = json.dumps({"outage_calls": 1, "outage_kind": kind}).encode()
        with urllib.request.urlopen(f"{provider.root_url}/control", asked, timeout=10):
            pass
        with pytest.raises(CallError) as raised:
            call(provider.base_url)
        assert type(raised.value) is expected
        assert f"HTTP {kind}" in str(raised.value)
        assert call(provider.base_url).text


def test_a_truncated_reply_of_the_simulator_says_so() -> None:
    with simulated(truncated_rate=1.0) as provider:
        assert call(provider.base_url).finish_reason == "length"
        assert call(provider.base_url, params=Params(max_output_tokens=2)).usage.output_tokens == 2

"""Bodies of the Responses API in our terms, from answers made by hand."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.openai_responses_reply import read_response
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import CallError, ContentFiltered, RateLimited, ServerFailed


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "content": [{"type": "output_text", "text": text}]}


def read(**fields: Any) -> Any:
    body = {"status": "completed", "output": [message("hello")], **fields}
    return read_response(json.dumps(body).encode())


def test_a_message_after_reasoning_is_the_answer() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}
    reply = read(output=[thought, message("one, "), message("two")])
    assert (reply.text, reply.finish_reason, reply.refused) == ("one, two", "stop", False)


@pytest.mark.parametrize(
    ("details", "reason", "refused"),
    [
        ({"reason": "max_output_tokens"}, "length", False),
        ({"reason": "content_filter"}, "content_filter", True),
        (None, "length", False),
    ],
)
def test_an_incomplete_response_is_a_cut_answer(details, reason, refused) -> None:
    reply = read(status="incomplete", incomplete_details=details)
    assert (reply.text, reply.finish_reason, reply.refused) == ("hello", reason, refused)


def test_reasoning_that_used_up_the_limit_leaves_an_empty_answer() -> None:
    reply = read(status="incomplete", output=[{"type": "reasoning"}])
    assert (reply.text, reply.finish_reason) == ("", "length")


def test_a_refusal_is_an_answer() -> None:
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}
    reply = read(output=[refusal])
    assert (reply.text, reply.refused) == ("", True)


def test_function_calls_are_tool_calls() -> None:
    calls = [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": '},
        {"type": "function_call", "name": "g", "arguments": {"b": 1}},
        {"type": "web_search_call", "id": "ws"},
    ]
    reply = read(output=calls)
    assert reply.finish_reason == "tool_calls"
    assert reply.tool_calls == (
        ToolCall(id="c1", name="f", arguments='{"a": '),
        ToolCall(id="call_1", name="g", arguments='{"b": 1}'),
    )


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("server_error", ServerFailed),
        ("rate_limit_exceeded", RateLimited),
        ("invalid_prompt", ContentFiltered),
        ("content_filter", ContentFiltered),
        (None, ServerFailed),
    ],
)
def test_a_failed_response_is_an_error_never_an_answer(code, expected) -> None:
    error = {"code": code, "message": "sk-planted-0123456789abcdef broke"}
    with pytest.raises(CallError) as raised:
        read(status="failed", error=error)
    assert type(raised.value) is expected
    assert "planted" not in str(raised.value)


@pytest.mark.parametrize("status", ["in_progress", "queued", "cancelled", "something new"])
def test_a_response_that_did_not_end_is_the_servers_failure(status) -> None:
    with pytest.raises(ServerFailed, match=status):
        read(status=status)


@pytest.mark.parametrize(
    "body",
    [
        b"<html>It works!</html>",
        b"",
        b"null",
        b"[]",
        b"{}",
        b'{"error": {"message": "overloaded"}}',
        b'{"status": "completed", "output": []}',
        b'{"status": "completed", "output": [null]}',
        b'{"status": "completed", "output": {"type": "message"}}',
        b'{"choices": [{"message": {"content": "chat"}}]}',
        b"[" * 100_000,
    ],
)
def test_a_body_without_a_response_is_the_servers_failure(body) -> None:
    with pytest.raises(ServerFailed):
        read_response(body)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"input_tokens": 9, "output_tokens": 4}, Usage(9, 4)),
        (
            {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": 8}},
            Usage(9, 4, 8),
        ),
        (
            {"input_tokens": 9, "output_tokens": 4, "input_tokens_details": {"cached_tokens": -1}},
            Usage(9, 4),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 4}, Usage(estimated=True)),
        ({"input_tokens": -9, "output_tokens": 4}, Usage(estimated=True)),
        (None, Usage(estimated=True)),
    ],
)
def test_usage_is_what_the_provider_says(said, expected) -> None:
    assert read(usage=said).usage == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)


@given(JSON, JSON, JSON, JSON)
def test_nothing_but_call_errors_comes_of_any_body(status, output, details, error) -> None:
    body = {"status": status, "output": output, "incomplete_details": details, "error": error}
    try:
        read_response(json.dumps(body).encode())
    except CallError:
        return
    assert status in ("completed", "incomplete")

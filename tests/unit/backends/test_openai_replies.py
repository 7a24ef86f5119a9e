"""Answers as servers send them: understood, or a failure of the server."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.base import ChatReply
from skillopt.backends.openai_reply import read_reply
from skillopt.domain.messages import Message, ToolCall, encode_messages
from skillopt.domain.usage import Usage
from skillopt.errors import ServerFailed


def answer(message: object, **fields: object) -> bytes:
    choice = {"message": message, "finish_reason": fields.pop("finish_reason", "stop")}
    return json.dumps({"choices": [choice], **fields}).encode()


def test_a_complete_answer() -> None:
    usage = {
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "total_tokens": 10,
        "prompt_tokens_details": {"cached_tokens": 5},
    }
    body = answer({"role": "assistant", "content": "Hello", "refusal": None}, usage=usage, id="x")
    assert read_reply(body) == ChatReply("Hello", "stop", Usage(7, 3, 5))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html><body>502</body></html>",
        b'{"choices": [{"mess',
        b"\xff\xfe\xff",
        b"[" * 200_000,
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": null}',
        b'{"choices": []}',
        b'{"choices": "abc"}',
        b'{"choices": {"0": {}}}',
        b'{"choices": [null]}',
        b'{"choices": ["x"]}',
        b'{"choices": [{}]}',
        answer(None),
        answer("text"),
        answer({"content": 5}),
        b'{"choices": [{"message": {"content": NaN}}]}',
        answer({"tool_calls": "x"}),
        answer({"tool_calls": [None]}),
        answer({"tool_calls": [{}]}),
        answer({"tool_calls": [{"id": "1", "function": None}]}),
        answer({"tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]}),
    ],
)
def test_an_answer_without_a_usable_message_is_the_servers_failure(body: bytes) -> None:
    with pytest.raises(ServerFailed):
        read_reply(body)


@pytest.mark.parametrize("message", [{}, {"content": None}, {"content": ""}, {"content": []}])
def test_no_content_is_an_empty_answer_of_the_model(message) -> None:
    assert read_reply(answer(message)).text == ""


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "image"}, {"type": "text", "text": "two"}]
    assert read_reply(answer({"content": parts})).text == "one two"


def test_a_character_cut_in_half_does_not_spoil_the_answer() -> None:
    reply = read_reply(b'{"choices": [{"message": {"content": "caf\\u00e9 \\ud83d"}}]}')
    assert reply.text == "café \N{REPLACEMENT CHARACTER}"
    encode_messages((Message(role="assistant", content=reply.text),))


def test_a_refusal_is_an_answer() -> None:
    reply = read_reply(answer({"content": None, "refusal": "I will not."}))
    assert reply.refused


@pytest.mark.parametrize(
    ("reason", "refused"),
    [("content_filter", True), ("length", False), ("stop", False), ("tool_calls", False)],
)
def test_finish_reasons(reason: str, refused: bool) -> None:
    reply = read_reply(answer({"content": "cut"}, finish_reason=reason))
    assert (reply.finish_reason, reply.refused, reply.text) == (reason, refused, "cut")


def test_a_missing_finish_reason_is_a_stop() -> None:
    assert read_reply(answer({"content": "x"}, finish_reason=None)).finish_reason == "stop"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ({"id": "a", "type": "function"}, ToolCall(id="a", name="look", arguments='{"q":')),
        ({"id": "a"}, ToolCall(id="a", name="look", arguments='{"q":')),
        ({}, ToolCall(id="call_0", name="look", arguments='{"q":')),
        ({"id": None}, ToolCall(id="call_0", name="look", arguments='{"q":')),
    ],
)
def test_tool_calls_are_kept_as_the_model_wrote_them(call, expected: ToolCall) -> None:
    message = {"tool_calls": [{**call, "function": {"name": "look", "arguments": '{"q":'}}]}
    assert read_reply(answer(message)).tool_calls == (expected,)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [({"q": 1}, '{"q": 1}'), (None, "{}"), ("", "{}"), ("not json", "not json")],
)
def test_arguments_of_any_type_become_a_text(arguments, expected: str) -> None:
    message = {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": arguments}}]}
    assert read_reply(answer(message)).tool_calls[0].arguments == expected


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "many",
        {},
        {"prompt_tokens": None, "completion_tokens": 3},
        {"prompt_tokens": 1},
        {"prompt_tokens": -1, "completion_tokens": 3},
    ],
)
def test_usage_that_is_not_usable_is_to_be_estimated(usage) -> None:
    assert read_reply(answer({"content": "x"}, usage=usage)).usage == Usage(estimated=True)


@pytest.mark.parametrize("details", [None, [], {}, {"cached_tokens": None}, {"cached_tokens": -3}])
def test_odd_details_of_usage_count_as_nothing_cached(details) -> None:
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": details}
    assert read_reply(answer({"content": "x"}, usage=usage)).usage == Usage(7, 3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "tool_calls", "function", "name", "usage", "id"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_any_json_is_a_reply_or_a_failure_of_the_server(value) -> None:
    for body in (value, {"choices": [value]}, {"choices": [{"message": value}], "usage": value}):
        with suppress(ServerFailed):
            reply = read_reply(json.dumps(body).encode())
            encode_messages(
                (Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls),)
            )

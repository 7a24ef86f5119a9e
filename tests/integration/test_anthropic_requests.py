"""What the Messages backend sends: each thing in the form that the API takes."""

from __future__ import annotations

from typing import Any

from canned_provider import PROMPT, Received, answering, ask, canned

from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall

HELLO = {"content": [{"type": "text", "text": "hello"}], "stop_reason": "end_turn"}
CALL = ToolCall(id="t1", name="look", arguments='{"q": 1}')
SAID = {"role": "user", "content": [{"type": "text", "text": "Say hello."}]}


def sent(params: Params | None = None, **changes: Any) -> Received:
    """Give the one request that a call makes."""
    limited = params or Params(max_output_tokens=77)
    with answering(canned(HELLO)) as provider:
        ask(provider.base_url, kind="anthropic_messages", params=limited, **changes)
        [received] = provider.received
    return received


def test_only_what_was_set_is_sent() -> None:
    received = sent()
    assert received.body == {"model": "some-model", "max_tokens": 77, "messages": [SAID]}
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["x-skillopt-sample"] == "0"


def test_every_parameter_is_sent() -> None:
    received = sent(
        Params(
            temperature=0.0,
            max_output_tokens=5,
            extra_body={"top_k": 5, "output_config": {"effort": "low"}},
            extra_headers={"X-Team": "blue", "Anthropic-Version": "2099-01-01"},
        ),
        sample=3,
    )
    assert received.body["temperature"] == 0.0
    assert received.body["max_tokens"] == 5
    assert received.body["top_k"] == 5
    assert received.body["output_config"] == {"effort": "low"}
    assert received.headers["x-team"] == "blue"
    assert received.headers["anthropic-version"] == "2099-01-01"
    assert received.headers["x-skillopt-sample"] == "3"


def test_a_backend_without_a_key_sends_none() -> None:
    headers = sent(api_key_env=None).headers
    assert "x-api-key" not in headers
    assert "authorization" not in headers


def test_system_messages_are_the_system_prompt() -> None:
    talk = (
        Message(role="system", content="One."),
        Message(role="system", content=" "),
        *PROMPT,
        Message(role="system", content="Two."),
    )
    body = sent(messages=talk).body
    assert body["system"] == "One.\n\nTwo."
    assert body["messages"] == [SAID]


def test_a_conversation_with_tools_is_sent_in_the_form_of_the_api() -> None:
    other = ToolCall(id="t2", name="gone", arguments="not json")
    talk = (
        *PROMPT,
        Message(role="assistant", content="I look.", tool_calls=(CALL, other)),
        Message(role="tool", content="42", tool_call_id="t1"),
        Message(role="tool", content="", tool_call_id="t2"),
        Message(role="user", content="And now?"),
    )
    tools = (
        Tool(name="look", description="Look.", parameters={"type": "object", "required": ["q"]}),
        Tool(name="stub"),
    )
    body = sent(messages=talk, tools=tools).body
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "t1", "name": "look", "input": {"q": 1}},
                {
                    "type": "tool_use",
                    "id": "t2",
                    "name": "gone",
                    "input": {"arguments": "not json"},
                },
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "42"},
                {"type": "tool_result", "tool_use_id": "t2"},
                {"type": "text", "text": "And now?"},
            ],
        },
    ]
    assert body["tools"] == [
        {
            "name": "look",
            "description": "Look.",
            "input_schema": {"type": "object", "required": ["q"]},
        },
        {"name": "stub", "input_schema": {"type": "object", "properties": {}}},
    ]
    assert "tool_choice" not in body


def test_tools_of_earlier_calls_are_declared_but_closed_when_none_is_offered() -> None:
    talk = (
        *PROMPT,
        Message(role="assistant", content="", tool_calls=(CALL,)),
        Message(role="tool", content="42", tool_call_id="t1"),
    )
    body = sent(messages=talk).body
    assert [tool["name"] for tool in body["tools"]] == ["look"]
    assert body["tool_choice"] == {"type": "none"}
    assert [block["type"] for block in body["messages"][1]["content"]] == ["tool_use"]


def test_a_message_without_words_gets_some_since_the_api_takes_no_empty_ones() -> None:
    talk = (
        *PROMPT,
        Message(role="assistant", content="\n"),
        Message(role="user", content="Again, please."),
    )
    turns = sent(messages=talk).body["messages"]
    assert turns[1] == {"role": "assistant", "content": [{"type": "text", "text": "(empty)"}]}

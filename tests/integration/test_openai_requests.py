"""What the real client sends: each parameter under the name that the provider knows."""

from __future__ import annotations

from typing import Any

import pytest
from canned_provider import PROMPT, Received, answering, ask, canned, completion

from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall

HELLO = completion({"role": "assistant", "content": "hello"})


def sent(params: Params | None = None, **changes: Any) -> Received:
    """Give the one request that a call makes."""
    with answering(canned(HELLO)) as provider:
        ask(provider.base_url, params=params or Params(), **changes)
        [received] = provider.received
    return received


def test_only_what_was_set_is_sent() -> None:
    received = sent()
    assert received.body == {
        "model": "some-model",
        "messages": [{"role": "user", "content": "Say hello."}],
    }
    assert received.headers["x-skillopt-sample"] == "0"


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("openai_chat", "max_completion_tokens"),
        ("openai_compatible", "max_tokens"),
        ("simulated", "max_tokens"),
    ],
)
def test_the_limit_of_tokens_has_the_name_that_the_kind_knows(kind: str, name: str) -> None:
    body = sent(Params(max_output_tokens=77), kind=kind).body
    assert body[name] == 77
    assert len({"max_tokens", "max_completion_tokens"} & set(body)) == 1


def test_every_parameter_is_sent() -> None:
    received = sent(
        Params(
            temperature=0.0,
            reasoning_effort="low",
            seed=100,
            extra_body={"top_k": 5, "nested": {"a": [1]}},
            extra_headers={"X-Team": "blue"},
        ),
        sample=3,
    )
    assert received.body["temperature"] == 0.0
    assert received.body["reasoning_effort"] == "low"
    assert received.body["seed"] == 103
    assert received.body["top_k"] == 5
    assert received.body["nested"] == {"a": [1]}
    assert received.headers["x-team"] == "blue"
    assert received.headers["x-skillopt-sample"] == "3"


def test_samples_differ_in_the_header_also_without_a_seed() -> None:
    received = sent(sample=2)
    assert "seed" not in received.body
    assert received.headers["x-skillopt-sample"] == "2"


def test_a_conversation_with_tools_is_sent_in_the_form_of_the_api() -> None:
    messages = (
        *PROMPT,
        Message(
            role="assistant",
            content="",
            tool_calls=(ToolCall(id="c1", name="look", arguments='{"q": 1}'),),
        ),
        Message(role="tool", content="42", tool_call_id="c1"),
    )
    tools = (
        Tool(name="look", description="Look.", parameters={"type": "object", "required": ["q"]}),
        Tool(name="stub"),
    )
    body = sent(messages=messages, tools=tools).body
    assert body["messages"][1]["tool_calls"] == [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"q": 1}'}}
    ]
    assert body["messages"][2] == {"role": "tool", "content": "42", "tool_call_id": "c1"}
    assert [tool["function"] for tool in body["tools"]] == [
        {
            "name": "look",
            "description": "Look.",
            "parameters": {"type": "object", "required": ["q"]},
        },
        {"name": "stub", "description": "", "parameters": {"type": "object", "properties": {}}},
    ]

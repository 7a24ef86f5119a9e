"""The simulator's Messages API over HTTP, byte for byte as a client of that API reads it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

TASK = "Write a note on whether the village library should open on Sundays."
RULE = 'Include "Certainty:" in the answer.'
LOOKUP = {
    "name": "lookup",
    "description": "Look it up.",
    "input_schema": {
        "type": "object",
        "properties": {"query": {"type": "string"}},
        "required": ["query"],
    },
}
Body = dict[str, Any]


def body(text: str = TASK, **fields: Any) -> Body:
    said = [{"role": "user", "content": text}]
    return {"model": "sim", "max_tokens": 1024, "messages": said, **fields}


def post(
    server: Address, asked: Any, path: str = "/v1/messages", **headers: str
) -> tuple[int, Any, str]:
    """Give status, headers and text of the answer."""
    request = urllib.request.Request(
        f"{server.root_url}{path}",
        json.dumps(asked).encode(),
        {"Content-Type": "application/json"}
        | {name.replace("_", "-"): value for name, value in headers.items()},
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read().decode()


def whole(server: Address, asked: Any, **headers: str) -> Body:
    status, _, text = post(server, asked, **headers)
    assert status == 200, text
    return json.loads(text)


def refused(server: Address, asked: Any, **headers: str) -> tuple[int, str, str]:
    status, _, text = post(server, asked, **headers)
    told = json.loads(text)
    assert set(told) == {"type", "error"}
    assert told["type"] == "error"
    assert set(told["error"]) == {"type", "message"}
    return status, told["error"]["type"], told["error"]["message"]


def streamed(server: Address, asked: Any) -> list[Body]:
    """Read a stream, holding it to its form: an event line and a data line that agree."""
    status, headers, text = post(server, {**asked, "stream": True})
    assert status == 200
    assert headers["Content-Type"].startswith("text/event-stream")
    events = []
    for frame in text.removesuffix("\n\n").split("\n\n"):
        named, data = frame.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert named == f"event: {event['type']}"
        events.append(event)
    return events


@pytest.fixture
def server():
    with running(SimulatorOptions()) as address:
        yield address


def test_a_message_has_the_shape_of_the_api(server) -> None:
    reply = whole(server, body(system=RULE))
    [block] = reply["content"]
    assert block["type"] == "text"
    assert "Certainty:" in block["text"]
    assert reply["id"].startswith("msg_")
    assert (reply["type"], reply["role"], reply["model"]) == ("message", "assistant", "sim")
    assert (reply["stop_reason"], reply["stop_sequence"]) == ("end_turn", None)
    assert reply["usage"] == {
        "input_tokens": -(-len(TASK + RULE) // 4),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens": -(-len(block["text"]) // 4),
    }


def test_the_same_words_get_the_same_answer_as_in_chat_completions(server) -> None:
    chat = {
        "model": "sim",
        "messages": [{"role": "system", "content": RULE}, {"role": "user", "content": TASK}],
    }
    _, _, text = post(server, chat, "/v1/chat/completions")
    said = json.loads(text)["choices"][0]["message"]["content"]
    plain = whole(server, body(system=RULE))
    blocks = [{"type": "text", "text": TASK, "cache_control": {"type": "ephemeral"}}]
    in_blocks = body(
        system=[{"type": "text", "text": RULE}], messages=[{"role": "user", "content": blocks}]
    )
    assert plain["content"][0]["text"] == said
    assert whole(server, in_blocks)["content"] == plain["content"]


def test_a_stream_sends_the_events_in_order_and_says_the_same(server) -> None:
    first, second, third, *deltas, ended, last_but_one, last = streamed(server, body())
    reply = whole(server, body())
    assert first["type"] == "message_start"
    assert first["message"] | {"content": reply["content"]} == reply | {
        "stop_reason": None,
        "usage": reply["usage"] | {"output_tokens": 1},
    }
    assert first["message"]["content"] == []
    assert second == {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "text", "text": ""},
    }
    assert third == {"type": "ping"}
    assert {delta["type"] for delta in deltas} == {"content_block_delta"}
    assert {delta["delta"]["type"] for delta in deltas} == {"text_delta"}
    text = "".join(delta["delta"]["text"] for delta in deltas)
    assert text == reply["content"][0]["text"]
    assert ended == {"type": "content_block_stop", "index": 0}
    assert last_but_one == {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": reply["usage"]["output_tokens"]},
    }
    assert last == {"type": "message_stop"}


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_used_and_its_result_is_taken_up(server, stream) -> None:
    asked = body(system='Always call the tool "lookup" first.', tools=[LOOKUP])
    if stream:
        events = streamed(server, asked)
        block = dict(events[1]["content_block"])
        pieces = [e["delta"]["partial_json"] for e in events if "partial_json" in str(e)]
        assert block["input"] == {}
        block["input"] = json.loads("".join(pieces))
        reason = events[-2]["delta"]["stop_reason"]
    else:
        reply = whole(server, asked)
        [block] = reply["content"]
        reason = reply["stop_reason"]
    assert (block["type"], block["name"], reason) == ("tool_use", "lookup", "tool_use")
    assert block["id"].startswith("toolu_")
    assert block["input"]["query"]
    result = {"type": "tool_result", "tool_use_id": block["id"], "content": "It has 4711 books"}
    for content in (result, {**result, "content": [{"type": "text", "text": result["content"]}]}):
        talk = [
            *asked["messages"],
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, block]},
            {"role": "user", "content": [content]},
        ]
        final = whole(server, {**asked, "messages": talk})
        assert "4711" in final["content"][0]["text"]
        assert final["stop_reason"] == "end_turn"


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ({"type": "auto"}, "end_turn"),
        ({"type": "any"}, "tool_use"),
        ({"type": "tool", "name": "lookup"}, "tool_use"),
        ({"type": "none"}, "end_turn"),
    ],
)
def test_the_choice_of_a_tool_is_obeyed(server, choice, reason) -> None:
    reply = whole(server, body(tools=[LOOKUP], tool_choice=choice))
    assert reply["stop_reason"] == reason


def test_tools_that_must_not_be_used_are_not_although_a_rule_says_so(server) -> None:
    asked = body(system='Always call the tool "lookup" first.', tools=[LOOKUP])
    assert whole(server, asked)["stop_reason"] == "tool_use"
    assert whole(server, {**asked, "tool_choice": {"type": "none"}})["stop_reason"] == "end_turn"


def test_a_reply_ends_at_the_limit_of_tokens(server) -> None:
    reply = whole(server, body(max_tokens=3))
    assert reply["stop_reason"] == "max_tokens"
    assert reply["usage"]["output_tokens"] == 3


def test_samples_differ_and_repeat(server) -> None:
    def text(sample: str) -> str:
        return whole(server, body(), X_Skillopt_Sample=sample)["content"][0]["text"]

    assert text("0") == text("0") != text("3")


def test_what_the_server_does_not_know_is_ignored(server) -> None:
    talk = [
        {
            "role": "user",
            "content": [{"type": "document", "source": {}}, {"type": "text", "text": TASK}],
        },
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"role": "user", "content": "Go on."},
    ]
    asked = body(
        messages=talk,
        tools=[{"type": "web_search_20250305", "name": "web_search"}],
        thinking={"type": "adaptive"},
        metadata={"user_id": "u"},
    )
    assert post(server, asked, "/v1/messages?beta=true")[0] == 200


def test_system_messages_between_the_turns_are_taken_even_without_content(server) -> None:
    settings = {"role": "system", "content": [], "output_config": {"effort": "low"}}
    talk = [SAID, settings, {"role": "assistant", "content": [USE]}, settings,
            {"role": "user", "content": [RESULT]}]  # fmt: skip
    assert whole(server, body(messages=[SAID, settings])) == whole(server, body())
    assert post(server, body(messages=talk, tools=[LOOKUP]))[0] == 200
    rule = {"role": "system", "content": RULE}
    assert "Certainty:" in whole(server, body(messages=[SAID, rule]))["content"][0]["text"]


USE = {"type": "tool_use", "id": "t1", "name": "lookup", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
SAID = {"role": "user", "content": TASK}


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ([], "the request body must be a JSON object"),
        ({"model": "sim", "messages": [SAID]}, "max_tokens: Field required"),
        (body(messages=[]), "messages: "),
        (body(temperature=1.5), "temperature: "),
        (body(messages=[{"role": "assistant", "content": "x"}]), 'must use the "user" role'),
        (body(messages=[{"role": "user", "content": ""}]), "must have non-empty content"),
        (body(messages=[{"role": "user", "content": " \n"}]), "must contain non-whitespace text"),
        (
            body(
                tools=[LOOKUP], messages=[SAID, {"role": "assistant", "content": [USE]}, SAID]
            ),
            "`tool_use` ids were found without `tool_result` blocks immediately after: t1",
        ),
        (
            body(tools=[LOOKUP], messages=[SAID, {"role": "user", "content": [RESULT]}]),
            "unexpected `tool_use_id` found in `tool_result` blocks: t1",
        ),
        (
            body(
                messages=[
                    SAID,
                    {"role": "assistant", "content": [USE]},
                    {"role": "user", "content": [RESULT]},
                ]
            ),
            "must define tools",
        ),
    ],
)  # fmt: skip
def test_a_request_that_the_api_refuses_is_refused(server, asked, words) -> None:
    status, kind, message = refused(server, asked)
    assert (status, kind) == (400, "invalid_request_error")
    assert words in message


def test_errors_have_the_types_of_the_api() -> None:
    options = SimulatorOptions(api_key="right", models=("sim",), content_filter="forbidden fruit")
    with running(options) as server:
        right = {"x_api_key": "right"}
        assert refused(server, body()) == (401, "authentication_error", "invalid x-api-key")
        assert refused(server, body(), x_api_key="left")[0] == 401
        assert refused(server, body(model="gone"), **right)[:2] == (404, "not_found_error")
        assert refused(server, body("Forbidden fruit!"), **right) == (
            400,
            "invalid_request_error",
            "Output blocked by content filtering policy",
        )
        assert whole(server, body(), **right) == whole(server, body(), Authorization="Bearer right")
        _, _, stats = (None, None, post_get(server, "/stats"))
    assert stats["by_status"] == {"200": 2, "400": 1, "401": 2, "404": 1}
    assert stats["ok"]["target"] == 2


def test_limits_and_outages_are_those_of_the_other_apis() -> None:
    with running(SimulatorOptions(rpm=1, window_s=3600)) as server:
        whole(server, body())
        status, headers, text = post(server, body())
        assert status == 429
        assert json.loads(text)["error"]["type"] == "rate_limit_error"
        assert 3500 < int(headers["retry-after"]) <= 3600
        assert post_get(server, "/stats")["violations"]["rpm"] == 1
        for kind, name in (("500", "api_error"), ("529", "overloaded_error")):
            post(server, {"outage_calls": 1, "outage_kind": kind}, "/control")
            assert refused(server, body())[:2] == (int(kind), name)


def post_get(server: Address, path: str) -> Body:
    with urllib.request.urlopen(f"{server.root_url}{path}", timeout=20) as answer:
        return json.load(answer)

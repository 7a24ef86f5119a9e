"""What a call asks for, over the wire of every HTTP kind: its own parameters, a form of the reply,
pictures, and tools.
"""

from __future__ import annotations

import base64
import hashlib
import json
import urllib.request
from typing import Any

import pytest
from aiohttp import web
from canned_provider import Answer, Received, answering, canned
from wire_kinds import HTTP_WIRES, MESSAGES, WIRES, Wire, ask, named

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Params, StructuredOutput
from skillopt.domain.item import TaskPrompt, Tool
from skillopt.domain.messages import Image, Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.envs.tasks import AttemptResult, Turn, attempt
from skillopt.errors import BadRequest, CallError, ServerFailed
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))

SCHEMA = ReplySchema(
    name="verdict",
    body={
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "score": {"type": "number"},
            "again": {"type": "object", "properties": {}, "required": [],
                      "additionalProperties": False},
        },
        "required": ["reason", "score", "again"],
        "additionalProperties": False,
    },
)  # fmt: skip
PIXEL = bytes.fromhex("89504e470d0a1a0a") + b"pixel"


def image(data: bytes = PIXEL, media_type: str = "image/png") -> Image:
    return Image(media_type=media_type, sha256=hashlib.sha256(data).hexdigest(), data=data)


def sent(wire: Wire, **asked: Any) -> Received:
    """Give the one request that a call makes."""
    changes = asked.pop("changes", {})
    with answering(canned(wire.answer("hello"))) as provider:
        ask(wire.backend(provider.root_url, **changes), **asked)
        [received] = provider.received
    return received


# --- parameters of one call ---------------------------------------------------------------------


@every_kind
def test_the_parameters_of_a_call_take_the_place_of_the_backends_own(wire: Wire) -> None:
    own = Params(temperature=0.9, max_output_tokens=9, extra_headers={"X-Own": "1"},
                 extra_body={"top_p": 0.1})  # fmt: skip
    called = Params(temperature=0.2, max_output_tokens=77, extra_headers={"X-Role": "judge"})
    received = sent(wire, params=called, changes={"params": own})
    body = received.body
    limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    assert [body[name] for name in limits if name in body] == [77]
    assert body["temperature"] == 0.2
    assert "top_p" not in body
    assert received.headers["x-role"] == "judge"
    assert "x-own" not in received.headers


@every_kind
def test_without_parameters_of_its_own_a_call_has_the_backends(wire: Wire) -> None:
    own = Params(temperature=0.9, max_output_tokens=9)
    assert sent(wire, changes={"params": own}).body["temperature"] == 0.9


# --- the form of a reply ------------------------------------------------------------------------


def form_in(wire: Wire, body: dict[str, Any]) -> Any:
    if wire.speaks_messages:
        return body.get("output_config", {}).get("format")
    if wire.speaks_responses:
        return body.get("text", {}).get("format")
    return body.get("response_format")


def form_expected(wire: Wire, how: StructuredOutput) -> Any:
    if how == "none" or (how == "json_object" and wire.speaks_messages):
        return None
    if how == "json_object":
        return {"type": "json_object"}
    if wire.speaks_messages:
        return {"type": "json_schema", "schema": SCHEMA.body}
    described = {"name": "verdict", "schema": SCHEMA.body, "strict": True}
    if wire.speaks_responses:
        return {"type": "json_schema", **described}
    return {"type": "json_schema", "json_schema": described}


@every_kind
@pytest.mark.parametrize("how", ["json_schema", "json_object", "none", None])
def test_a_form_is_asked_for_as_the_catalogue_says(wire: Wire, how: StructuredOutput) -> None:
    body = sent(wire, schema=SCHEMA, changes={"structured_output": how}).body
    usual: StructuredOutput = "none" if wire.kind == "openai_compatible" else "json_schema"
    assert form_in(wire, body) == form_expected(wire, how or usual)
    if how != "json_schema":
        return
    asked = form_in(wire, body)
    schema = asked.get("schema") or asked["json_schema"]["schema"]
    assert list(schema["properties"]) == ["reason", "score", "again"], "a model writes in order"


@every_kind
def test_without_a_schema_no_form_is_asked_for(wire: Wire) -> None:
    assert form_in(wire, sent(wire, changes={"structured_output": "json_schema"}).body) is None


@every_kind
def test_what_the_catalogue_adds_beside_the_form_is_kept(wire: Wire) -> None:
    extra: dict[str, Any] = {"response_format": {"type": "text"}, "user": "u"}
    if wire.speaks_responses:
        extra = {"text": {"verbosity": "low", "format": {"type": "text"}}, "user": "u"}
    if wire.speaks_messages:
        extra = {"output_config": {"effort": "low"}, "user": "u"}
    params = Params(max_output_tokens=9, extra_body=extra)
    body = sent(wire, schema=SCHEMA, params=params,
                changes={"structured_output": "json_schema"}).body  # fmt: skip
    assert form_in(wire, body) == form_expected(wire, "json_schema")
    assert body["user"] == "u"
    if wire.speaks_responses:
        assert body["text"]["verbosity"] == "low"
    if wire.speaks_messages:
        assert body["output_config"]["effort"] == "low"


NAMING = {
    "OpenAI": (400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported"),
    "Responses": (400, "Unsupported parameter: 'text.format'"),
    "Anthropic": (400, "output_config.format: not supported by this model"),
    "vLLM": (422, "guided_json: the grammar is not valid"),
    "llama_cpp.server": (500, "[{'loc': ('body', 'response_format', 'type'), 'msg': 'no'}]"),
    "a server without it": (501, "structured outputs are not implemented"),
}


@every_kind
@pytest.mark.parametrize(("status", "message"), NAMING.values(), ids=NAMING.keys())
def test_a_server_that_cannot_do_it_gets_an_error_that_names_the_key(
    wire: Wire, status: int, message: str
) -> None:
    refusing = canned(wire.error(status, message, None), status=status)
    with answering(refusing) as provider:
        backend = wire.backend(provider.root_url, structured_output="json_schema")
        with pytest.raises(BadRequest, match="write structured_output: none"):
            ask(backend, schema=SCHEMA)
        with pytest.raises(CallError) as plain:
            ask(backend)
    assert type(plain.value) is (ServerFailed if status >= 500 else BadRequest)
    assert "structured_output" not in str(plain.value)


def form_said(wire: Wire, how: StructuredOutput) -> dict[str, Any]:
    """Ask the simulator twice in a form, and once without; give what the form says."""
    with running(SimulatorOptions()) as simulator:
        backend = wire.backend(simulator.root_url, structured_output=how)
        reply = ask(backend, schema=SCHEMA)
        assert reply == ask(backend, schema=SCHEMA)
        said: dict[str, Any] = json.loads(reply.text)
        assert ask(backend).text in said.values()
    return said


@every_kind
def test_the_simulator_answers_by_the_schema(wire: Wire) -> None:
    assert list(form_said(wire, "json_schema")) == ["reason", "score", "again"]


@pytest.mark.parametrize(**named(WIRES))
def test_the_simulator_answers_with_an_object(wire: Wire) -> None:
    assert form_said(wire, "json_object")


@every_kind
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({**SCHEMA.body, "additionalProperties": True}, "additionalProperties"),
        ({"type": "array", "items": {}}, "type 'object'"),
        ({**SCHEMA.body, "properties": {"a": {"type": "object", "properties": {}}},
          "required": ["a"]}, "additionalProperties"),
    ],
    ids=["open at its top", "not an object", "open below"],
)  # fmt: skip
def test_the_simulator_refuses_a_schema_that_a_strict_server_would(
    wire: Wire, body: dict[str, Any], words: str
) -> None:
    with running(SimulatorOptions()) as simulator:
        backend = wire.backend(simulator.root_url, structured_output="json_schema")
        with pytest.raises(BadRequest, match=words):
            ask(backend, schema=ReplySchema(name="open", body=body))


@pytest.mark.parametrize(**named(WIRES))
def test_the_simulator_wants_every_property_required_where_openai_does(wire: Wire) -> None:
    open_ended = ReplySchema(name="open", body={**SCHEMA.body, "required": ["reason"]})
    with running(SimulatorOptions()) as simulator:
        backend = wire.backend(simulator.root_url, structured_output="json_schema")
        with pytest.raises(BadRequest, match="required"):
            ask(backend, schema=open_ended)
        assert ask(MESSAGES.backend(simulator.root_url), schema=open_ended).text


def test_the_simulator_knows_the_words_that_messages_does_not() -> None:
    bounded = {"type": "number", "minimum": 0}
    body = {**SCHEMA.body, "properties": {"score": bounded}, "required": ["score"]}
    with running(SimulatorOptions()) as simulator:
        backend = MESSAGES.backend(simulator.root_url)
        with pytest.raises(BadRequest, match="minimum"):
            ask(backend, schema=ReplySchema(name="bounded", body=body))
        assert ask(WIRES[0].backend(simulator.root_url), schema=ReplySchema(name="b", body=body))


# --- pictures -----------------------------------------------------------------------------------


@every_kind
def test_pictures_are_sent_in_the_form_of_the_api(wire: Wire) -> None:
    other = image(b"GIF89a...", "image/gif")
    shown = Message(role="user", content="What is this?", images=(image(), other))
    body = sent(wire, messages=(Message(role="system", content="Look."), shown)).body
    encoded = [base64.b64encode(one.data).decode() for one in (image(), other)]
    urls = [f"data:image/png;base64,{encoded[0]}", f"data:image/gif;base64,{encoded[1]}"]
    if wire.speaks_messages:
        [turn] = body["messages"]
        assert turn["content"] == [
            {"type": "image",
             "source": {"type": "base64", "media_type": "image/png", "data": encoded[0]}},
            {"type": "image",
             "source": {"type": "base64", "media_type": "image/gif", "data": encoded[1]}},
            {"type": "text", "text": "What is this?"},
        ]  # fmt: skip
    elif wire.speaks_responses:
        assert body["input"][0] == {"role": "system", "content": "Look."}
        assert body["input"][1]["content"] == [
            {"type": "input_text", "text": "What is this?"},
            *({"type": "input_image", "image_url": url} for url in urls),
        ]
    else:
        assert body["messages"][0] == {"role": "system", "content": "Look."}
        assert body["messages"][1]["content"] == [
            {"type": "text", "text": "What is this?"},
            *({"type": "image_url", "image_url": {"url": url}} for url in urls),
        ]


@every_kind
def test_a_picture_without_words_is_enough(wire: Wire) -> None:
    body = sent(wire, messages=(Message(role="user", content="", images=(image(),)),)).body
    [row] = body["input"] if wire.speaks_responses else body["messages"]
    assert len(row["content"]) == 1


@every_kind
def test_a_picture_whose_bytes_were_not_read_is_not_sent(wire: Wire) -> None:
    named_only = Image(media_type="image/png", sha256="ab" * 32)
    with answering(canned(wire.answer("hello"))) as provider:
        with pytest.raises(BadRequest, match="'abababababababab'"):
            ask(
                wire.backend(provider.root_url),
                messages=(Message(role="user", content="Look.", images=(named_only,)),),
            )
        assert provider.received == []


@every_kind
def test_the_simulator_sees_pictures_and_says_the_same_through_every_api(wire: Wire) -> None:
    def about(data: bytes, wire: Wire, root: str) -> ChatReply:
        shown = Message(role="user", content="Describe the picture.", images=(image(data),))
        return ask(wire.backend(root), messages=(shown,))

    with running(SimulatorOptions()) as simulator:
        root = simulator.root_url
        reply = about(b"one", wire, root)
        assert reply == about(b"one", WIRES[0], root)
        plain = ask(
            wire.backend(root), messages=(Message(role="user", content="Describe the picture."),)
        )
        others = {about(bytes([number]), wire, root).text for number in range(8)}
        with urllib.request.urlopen(f"{root}/stats", timeout=10) as stats:
            assert json.load(stats)["pictures"] == 10
    assert reply.usage.input_tokens > plain.usage.input_tokens
    assert len(others) > 1, "what is said depends on the picture"


@every_kind
@pytest.mark.parametrize("media_type", ["image/tiff", "application/pdf"])
def test_the_simulator_refuses_what_is_no_picture(wire: Wire, media_type: str) -> None:
    shown = Message(role="user", content="Look.", images=(image(b"x", media_type),))
    with running(SimulatorOptions()) as simulator, pytest.raises(BadRequest):
        ask(wire.backend(simulator.root_url), messages=(shown,))


# --- tools --------------------------------------------------------------------------------------

LOOK = Tool(name="look", description="Looks a word up.", result="found")
OTHER = Tool(name="other", result="42")


def in_turn(*bodies: dict[str, Any]) -> Answer:
    left = list(bodies)

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response(left.pop(0))

    return answer


def attempted(wire: Wire, *bodies: dict[str, Any]) -> tuple[AttemptResult, list[Received]]:
    """Let a scripted model work on a task, through the real client."""
    with answering(in_turn(*bodies)) as provider:
        backend = wire.backend(provider.root_url)

        def chat(messages: Any, tools: Any) -> Turn:
            reply = ask(backend, messages=tuple(messages), tools=tuple(tools))
            return Turn(reply.text, reply.finish_reason, reply.refused, reply.tool_calls)

        prompt = TaskPrompt(task="Say hello.", tools=(LOOK, OTHER))
        return attempt(chat, prompt, "Be brief.", "{{skill}}"), provider.received


def results_in(wire: Wire, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Read which calls have which results in a request."""
    if wire.speaks_responses:
        rows = [item for item in body["input"] if item.get("type") == "function_call_output"]
        return [(row["call_id"], row["output"]) for row in rows]
    if wire.speaks_messages:
        blocks = [block for turn in body["messages"] for block in turn["content"]]
        rows = [block for block in blocks if block["type"] == "tool_result"]
        return [(row["tool_use_id"], row.get("content", "")) for row in rows]
    rows = [row for row in body["messages"] if row["role"] == "tool"]
    return [(row["tool_call_id"], row["content"]) for row in rows]


@every_kind
def test_parallel_calls_have_a_result_each(wire: Wire) -> None:
    calls = wire.calling(("a", "look", '{"word": "x"}'), ("b", "other", "{}"), ("c", "look", "{}"))
    result, received = attempted(wire, calls, wire.answer("hello"))
    assert result.text == "hello"
    assert result.tools_called == ("look", "other", "look")
    assert results_in(wire, received[1].body) == [("a", "found"), ("b", "42"), ("c", "found")]


@every_kind
def test_a_tool_that_was_not_offered_is_answered_and_not_counted(wire: Wire) -> None:
    calls = wire.calling(("a", "rm", "{}"), ("b", "look", "{}"))
    result, received = attempted(wire, calls, wire.answer("hello"))
    assert result.tools_called == ("look",)
    [unknown, known] = results_in(wire, received[1].body)
    assert unknown == ("a", "there is no tool named 'rm'")
    assert known == ("b", "found")


@pytest.mark.parametrize(**named(WIRES))
@pytest.mark.parametrize("arguments", ['{"word": ', "", "[1]", '"text"', "null"])
def test_arguments_of_any_form_go_on_with_the_talk(wire: Wire, arguments: str) -> None:
    result, received = attempted(wire, wire.calling(("a", "look", arguments)), wire.answer("hello"))
    assert (result.text, result.tools_called) == ("hello", ("look",))
    assert results_in(wire, received[1].body) == [("a", "found")]


@every_kind
def test_calls_without_ids_of_their_own_keep_their_results_apart(wire: Wire) -> None:
    calls = wire.calling(("", "look", "{}"), ("", "other", "{}"))
    _, received = attempted(wire, calls, wire.answer("hello"))
    (first, found), (second, answer) = results_in(wire, received[1].body)
    assert first and second and first != second
    assert (found, answer) == ("found", "42")


@every_kind
def test_a_model_that_only_calls_tools_ends_at_its_last_turn(wire: Wire) -> None:
    result, received = attempted(wire, *[wire.calling((f"c{n}", "look", "{}")) for n in range(8)])
    assert len(received) == 8
    assert result.tools_called == ("look",) * 8
    offered = [received[-1].body.get("tools"), received[-1].body.get("tool_choice")]
    assert offered[0] is None or offered[1] == {"type": "none"}

"""One contract for every kind that the openai client serves, over real HTTP.

What each failure of a provider is stands in the error table (tests/contract); here is the rest.
"""

from __future__ import annotations

import pytest
from canned_provider import (
    KEY,
    PROMPT,
    answering,
    canned,
    failing,
)
from wire_kinds import AZURE, WIRES, ask, named

from skillopt.backends.registry import open_backend
from skillopt.domain.backend import Params
from skillopt.domain.item import Tool
from skillopt.domain.messages import Message, ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    CallTimeout,
    ConfigError,
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

every_kind = pytest.mark.parametrize(**named(WIRES))
on_azure = pytest.mark.parametrize(**named(AZURE))


# --- what is sent -------------------------------------------------------------------------------


@every_kind
def test_the_request_goes_to_the_kinds_path_with_its_key_and_nothing_of_the_environment(
    wire, monkeypatch
) -> None:
    ambient = {
        "OPENAI_API_KEY": "ambient",
        "OPENAI_ADMIN_KEY": "ambient",
        "OPENAI_ORG_ID": "ambient",
        "OPENAI_PROJECT_ID": "ambient",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/ambient",
        "OPENAI_CUSTOM_HEADERS": "X-Ambient: ambient\nAuthorization: ambient\napi-key: ambient",
        "OPENAI_API_VERSION": "ambient",
        "AZURE_OPENAI_API_KEY": "ambient",
        "AZURE_OPENAI_AD_TOKEN": "ambient",
        "AZURE_OPENAI_ENDPOINT": "http://127.0.0.1:9/ambient",
    }
    for name, value in ambient.items():
        monkeypatch.setenv(name, value)
    with answering(canned(wire.answer("hello"))) as provider:
        assert ask(wire.backend(provider.root_url)).text == "hello"
        [received] = provider.received
    assert received.path == wire.path
    assert received.body["model"] == "d-1"
    assert received.headers[wire.key_header] == wire.key_as_sent(KEY)
    assert len({"authorization", "api-key"} & received.headers.keys()) == 1
    assert "ambient" not in str(received)
    assert not [name for name in received.headers if name.startswith("openai-")]


@every_kind
def test_parameters_are_sent_under_the_names_of_the_api(wire) -> None:
    params = Params(
        temperature=0.5,
        max_output_tokens=77,
        reasoning_effort="low",
        extra_body={"top_p": 0.5},
        extra_headers={"X-Team": "blue"},
    )
    with answering(canned(wire.answer("hello"))) as provider:
        ask(wire.backend(provider.root_url, params=params), sample=3)
        [received] = provider.received
    body = received.body
    assert (body["temperature"], body["top_p"]) == (0.5, 0.5)
    assert received.headers["x-team"] == "blue"
    assert received.headers["x-skillopt-sample"] == "3"
    if wire.speaks_responses:
        assert (body["max_output_tokens"], body["reasoning"]) == (77, {"effort": "low"})
        assert body["store"] is False
    else:
        limit = "max_tokens" if wire.kind == "openai_compatible" else "max_completion_tokens"
        assert (body[limit], body["reasoning_effort"]) == (77, "low")


# --- failures -----------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (401, "invalid_api_key", AuthFailed),
        (403, None, AuthFailed),
        (404, "DeploymentNotFound", UnknownModel),
        (400, None, BadRequest),
        (400, "content_filter", ContentFiltered),
        (429, "rate_limit_exceeded", RateLimited),
        (429, "insufficient_quota", AuthFailed),
        (408, None, ServerFailed),
        (500, None, ServerFailed),
        (503, None, ServerFailed),
        (529, None, RateLimited),
    ],
)
def test_one_request_one_error_of_its_class_and_no_key_in_it(wire, status, code, expected) -> None:
    with answering(failing(status, f"{OPAQUE_KEY} is at fault", code)) as provider:
        with pytest.raises(CallError) as raised:
            ask(wire.backend(provider.root_url), key=OPAQUE_KEY)
        assert len(provider.received) == 1, "the SDK must not retry"
    assert type(raised.value) is expected
    assert OPAQUE_KEY not in str(raised.value)
    assert str(status) in str(raised.value)


@every_kind
def test_a_missing_key_makes_no_call(wire) -> None:
    with pytest.raises(ConfigError, match="'PLANTED_KEY', which is not set"):
        open_backend(wire.backend("http://127.0.0.1:9"), {})


@every_kind
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry_After": "7"}, 7.0),
        ({"retry_after_ms": "1250", "Retry_After": "2"}, 1.25),
        ({}, None),
    ],
)
def test_retry_after_is_read_and_not_waited_for(wire, headers, seconds) -> None:
    with answering(failing(429, **headers)) as provider:
        with pytest.raises(RateLimited) as raised:
            ask(wire.backend(provider.root_url))
        assert len(provider.received) == 1
    assert raised.value.retry_after_s == seconds


@on_azure
def test_azure_may_name_the_filter_inside_the_error_only(wire) -> None:
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": {}}
    error = {"message": "no", "code": None, "innererror": inner}
    with (
        answering(canned({"error": error}, status=400)) as provider,
        pytest.raises(ContentFiltered),
    ):
        ask(wire.backend(provider.root_url))


@every_kind
@pytest.mark.parametrize(
    "body",
    [
        canned(text="<html><body>It works!</body></html>"),
        canned(text=""),
        canned({"error": {"message": "overloaded"}}),
        canned({"status": "failed", "error": {"code": "server_error", "message": "broke"}}),
        canned({"choices": []}),
        canned(None),
    ],
)
def test_an_answer_without_a_message_is_the_servers_failure(wire, body) -> None:
    with answering(body) as provider, pytest.raises(ServerFailed):
        ask(wire.backend(provider.root_url))


@pytest.mark.parametrize(**named(wire for wire in WIRES if wire.speaks_responses))
def test_a_key_that_a_failed_response_quotes_is_hidden(wire) -> None:
    error = {"code": "server_error", "message": f"{OPAQUE_KEY} broke"}
    with (
        answering(canned({"status": "failed", "error": error})) as provider,
        pytest.raises(ServerFailed, match="broke") as raised,
    ):
        ask(wire.backend(provider.root_url), key=OPAQUE_KEY)
    assert OPAQUE_KEY not in str(raised.value)


# --- answers ------------------------------------------------------------------------------------


@every_kind
def test_usage_is_what_the_provider_says_or_marked_as_unknown(wire) -> None:
    with answering(canned(wire.answer("hi", usage=wire.usage(9, 4, 8)))) as provider:
        assert ask(wire.backend(provider.root_url)).usage == Usage(9, 4, 8)
    with answering(canned(wire.answer("hi"))) as provider:
        assert ask(wire.backend(provider.root_url)).usage.estimated


# --- the simulator ------------------------------------------------------------------------------


@every_kind
def test_the_simulator_says_the_same_through_every_api(wire) -> None:
    with running(SimulatorOptions(api_key=KEY)) as simulator:
        reply = ask(wire.backend(simulator.root_url))
        chat = ask(WIRES[0].backend(simulator.root_url))
    assert reply == chat
    assert reply.text
    assert (reply.finish_reason, reply.usage.estimated) == ("stop", False)


@every_kind
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
def test_faults_of_the_simulator(wire, options, expected) -> None:
    timeout_s = 0.2 if expected is CallTimeout else 10
    with running(SimulatorOptions(**options)) as simulator, pytest.raises(CallError) as raised:
        ask(wire.backend(simulator.root_url, timeout_s=timeout_s))
    assert type(raised.value) is expected
    assert KEY not in str(raised.value)


@every_kind
def test_a_limit_of_the_simulator_says_when_to_come_again(wire) -> None:
    with running(SimulatorOptions(rpm=1, window_s=30)) as simulator:
        ask(wire.backend(simulator.root_url))
        with pytest.raises(RateLimited) as raised:
            ask(wire.backend(simulator.root_url))
    assert 20 < (raised.value.retry_after_s or 0) <= 30


@every_kind
def test_the_limit_of_output_tokens_cuts_the_answer(wire) -> None:
    with running(SimulatorOptions()) as simulator:
        params = Params(max_output_tokens=2)
        reply = ask(wire.backend(simulator.root_url, params=params))
    assert reply.finish_reason == "length"
    assert reply.usage.output_tokens <= 2


@every_kind
def test_a_task_with_a_tool_is_solved_with_a_native_call(wire) -> None:
    look = Tool(
        name="look_up",
        description="Looks a word up.",
        parameters={"type": "object", "properties": {"word": {"type": "string"}}},
    )
    prompt = (
        Message(role="system", content="Always call the tool look_up before you answer."),
        *PROMPT,
    )
    with running(SimulatorOptions()) as simulator:
        backend = wire.backend(simulator.root_url)
        reply = ask(backend, messages=prompt, tools=(look,))
        [call] = reply.tool_calls
        assert (call.name, reply.finish_reason) == ("look_up", "tool_calls")
        turns = (
            *prompt,
            Message(role="assistant", content=reply.text, tool_calls=reply.tool_calls),
            Message(role="tool", content="found", tool_call_id=call.id),
        )
        last = ask(backend, messages=turns, tools=(look,))
    assert isinstance(call, ToolCall)
    assert last.tool_calls == ()
    assert last.text

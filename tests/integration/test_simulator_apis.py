"""The simulator's Responses API and Azure paths, asked by the real client and by hand."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

KEY = "sk-simulated"
TOOL: Any = {
    "type": "function",
    "name": "look_up",
    "description": "Looks a word up.",
    "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    "strict": False,
}
CALL_FIRST = "Always call the tool look_up before you answer."


@pytest.fixture
def simulator() -> Iterator[Address]:
    with running(SimulatorOptions(api_key=KEY)) as address:
        yield address


def client(address: Address) -> openai.OpenAI:
    return openai.OpenAI(base_url=address.base_url, api_key=KEY, max_retries=0)


def post(address: Address, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(
        f"{address.root_url}{path}", json.dumps(body).encode(), named, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_a_response_reads_as_the_clients_own_type(simulator: Address) -> None:
    with client(simulator) as asking:
        response = asking.responses.create(model="m", input="Say hello.", instructions="Be brief.")
    assert response.status == "completed"
    assert response.output_text
    assert response.usage is not None
    assert response.usage.input_tokens > 0


def test_input_may_be_a_text_or_items_of_parts(simulator: Address) -> None:
    part: Any = {"type": "input_text", "text": "Say hello."}
    spellings: list[Any] = [
        "Say hello.",
        [{"role": "user", "content": "Say hello."}],
        [{"type": "message", "role": "user", "content": [part]}],
        [{"type": "reasoning", "summary": []}, {"role": "user", "content": [part]}],
    ]
    with client(simulator) as asking:
        said = {asking.responses.create(model="m", input=one).output_text for one in spellings}
    assert len(said) == 1


def test_a_streamed_response_adds_up_to_the_whole_one(simulator: Address) -> None:
    with client(simulator) as asking:
        whole = asking.responses.create(model="m", input="Say hello.")
        with asking.responses.stream(model="m", input="Say hello.") as stream:
            events = list(stream)
            final = stream.get_final_response()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(deltas) == whole.output_text == final.output_text
    assert final.usage == whole.usage
    assert events[0].type == "response.created"
    assert events[-1].type == "response.completed"
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_a_streamed_function_call_adds_up_to_the_whole_one(simulator: Address) -> None:
    with client(simulator) as asking:
        asked: Any = {"model": "m", "input": "Say hello.", "tools": [TOOL]}
        whole = asking.responses.create(**asked, instructions=CALL_FIRST)
        with asking.responses.stream(**asked, instructions=CALL_FIRST) as stream:
            final = stream.get_final_response()
    [call], [streamed] = whole.output, final.output
    assert call.type == streamed.type == "function_call"
    assert (call.name, call.call_id) == (streamed.name, streamed.call_id)
    assert call.arguments == streamed.arguments


def test_a_cut_response_is_incomplete(simulator: Address) -> None:
    with client(simulator) as asking:
        asked: Any = {"model": "m", "input": "Say hello.", "max_output_tokens": 1}
        response = asking.responses.create(**asked)
        with asking.responses.stream(**asked) as stream:
            events = list(stream)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert events[-1].type == "response.incomplete"


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"model": "m"}, "input"),
        ({"input": "x"}, "model"),
        ({"model": "m", "input": [{"role": "nobody", "content": "x"}]}, "input.0.role"),
        ({"model": "m", "input": "x", "previous_response_id": "r"}, "previous_response_id"),
        ({"model": "m", "input": "x", "max_output_tokens": 0}, "max_output_tokens"),
        ({"model": "m", "input": [{"type": "function_call_output", "call_id": "c"}]}, "messages.0"),
        ([], None),
    ],
)
def test_a_wrong_request_names_the_parameter(simulator: Address, body, param) -> None:
    status, answer = post(simulator, "/v1/responses", body, Authorization=f"Bearer {KEY}")
    assert (status, answer["error"]["param"]) == (400, param)


def test_tools_that_are_no_functions_are_not_offered(simulator: Address) -> None:
    with client(simulator) as asking:
        tools: Any = [{"type": "web_search"}, {"type": "custom", "name": "apply"}, TOOL]
        response = asking.responses.create(
            model="m", input="Say hello.", instructions=CALL_FIRST, tools=tools
        )
    [call] = response.output
    assert call.type == "function_call"
    assert call.name == "look_up"


# --- Azure --------------------------------------------------------------------------------------

CHAT = "/openai/deployments/d-1/chat/completions"
MESSAGES = {"messages": [{"role": "user", "content": "hi"}]}
HI = {"model": "d-1", "input": "hi"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{CHAT}?api-version=2024-10-21", MESSAGES),
        ("/openai/responses?api-version=2025-04-01-preview", HI),
        ("/openai/v1/responses", HI),
        ("/openai/v1/chat/completions", {"model": "d-1", **MESSAGES}),
    ],
)
@pytest.mark.parametrize("header", ["api_key", "Authorization"])
def test_azure_paths_take_a_key_or_a_token(simulator: Address, path, body, header) -> None:
    given = KEY if header == "api_key" else f"Bearer {KEY}"
    status, answer = post(simulator, path, body, **{header: given})
    assert (status, answer["model"]) == (200, "d-1")
    status, answer = post(simulator, path, body, **{header: "wrong"})
    assert (status, answer["error"]["code"]) == (401, "invalid_api_key")


def test_the_key_header_of_azure_opens_no_other_path(simulator: Address) -> None:
    status, _ = post(simulator, "/v1/responses", HI, api_key=KEY)
    assert status == 401


@pytest.mark.parametrize(("path", "body"), [(CHAT, MESSAGES), ("/openai/responses", HI)])
def test_dated_paths_without_a_version_do_not_exist(simulator: Address, path, body) -> None:
    assert post(simulator, path, body, api_key=KEY)[0] == 404


@pytest.mark.parametrize(
    ("options", "status", "code"),
    [
        ({"models": ("other",)}, 404, "DeploymentNotFound"),
        ({"content_filter": "hi"}, 400, "content_filter"),
        ({"error_rate": 1.0}, 500, None),
    ],
)
def test_azure_has_its_own_words_for_some_errors(options, status, code) -> None:
    with running(SimulatorOptions(**options)) as address:
        answered, answer = post(address, "/openai/v1/responses", HI)
    assert (answered, answer["error"]["code"]) == (status, code)
    assert ("innererror" in answer["error"]) == (code == "content_filter")


def test_calls_of_all_apis_share_limits_and_statistics() -> None:
    with running(SimulatorOptions(rpm=2)) as address:
        paths = (("/v1/responses", HI), ("/openai/v1/responses", HI))
        assert [post(address, path, body)[0] for path, body in paths] == [200, 200]
        assert post(address, f"{CHAT}?api-version=v", MESSAGES)[0] == 429
        with urllib.request.urlopen(f"{address.root_url}/stats", timeout=20) as answer:
            stats = json.load(answer)
    assert stats["by_status"] == {"200": 2, "429": 1}
    assert stats["distinct_contents"] == 1, "the same words are the same question in every API"
    assert stats["violations"]["rpm"] == 1

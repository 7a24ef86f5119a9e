"""Servers that call themselves compatible, each in the shapes it really sends.

One row is one body of one server, read by the real client over real HTTP: reasoning never becomes
the answer, and what is not an answer has the class that says what to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from canned_provider import KEY, answering, ask, canned

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Params
from skillopt.domain.messages import ToolCall
from skillopt.domain.usage import Usage
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallError,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)

THOUGHTS = "The user wants the capital of France. That is Paris."


def body(message: dict[str, Any], finish: Any = "stop", **fields: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], **fields}


def answered(sent: dict[str, Any]) -> ChatReply:
    with answering(canned(sent)) as provider:
        return ask(provider.base_url)


# --- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """A body, and the answer in it; no usage stands for one that must be estimated."""

    server: str
    body: dict[str, Any]
    text: str = "Paris."
    finish: str = "stop"
    usage: Usage | None = None
    refused: bool = False


VLLM_MESSAGE = {"content": "Paris.", "refusal": None, "annotations": None, "tool_calls": []}
VLLM_USAGE = {
    "prompt_tokens": 21,
    "total_tokens": 61,
    "completion_tokens": 40,
    "prompt_tokens_details": None,
}
SAID = (
    Said(
        "vLLM: reasoning in its own field",
        body(
            {**VLLM_MESSAGE, "reasoning": THOUGHTS, "reasoning_content": THOUGHTS},
            usage=VLLM_USAGE,
            prompt_logprobs=None,
            kv_transfer_params=None,
        ),
        usage=Usage(21, 40),
    ),
    Said(
        "vLLM: the limit came before the end of the reasoning",
        body({**VLLM_MESSAGE, "content": None, "reasoning": THOUGHTS}, "length", usage=VLLM_USAGE),
        text="",
        finish="length",
        usage=Usage(21, 40),
    ),
    Said(
        "vLLM: prefix cache counted",
        body(VLLM_MESSAGE, usage={**VLLM_USAGE, "prompt_tokens_details": {"cached_tokens": 16}}),
        usage=Usage(21, 40, 16),
    ),
    Said(
        "vLLM without a reasoning parser, Qwen3",
        body({"content": f"<think>\n{THOUGHTS}\n</think>\n\nParis.", "reasoning_content": None}),
    ),
    Said(
        "vLLM without a reasoning parser, a Qwen3 whose template writes the first tag",
        body({"content": f"{THOUGHTS}\n</think>\n\nParis."}),
    ),
    Said(
        "Qwen3 with thinking off leaves an empty block",
        body({"content": "<think>\n\n</think>\n\nParis."}),
    ),
    Said(
        "Qwen3, cut within its thoughts",
        body({"content": f"<think>\n{THOUGHTS}"}, "length"),
        text="",
        finish="length",
    ),
    Said(
        "llama.cpp: reasoning_content and timings",
        body(
            {"content": "Paris.", "reasoning_content": THOUGHTS},
            model="qwen.gguf",
            system_fingerprint="b6512-1",
            usage={"completion_tokens": 40, "prompt_tokens": 21, "total_tokens": 61},
            timings={"prompt_n": 21, "predicted_n": 40},
        ),
        usage=Usage(21, 40),
    ),
    Said(
        "llama.cpp with reasoning-format none",
        body({"content": f"<think>{THOUGHTS}</think>Paris."}),
    ),
    Said(
        "llama_cpp.server",
        body(
            {"content": "Paris."},
            usage={"prompt_tokens": 21, "completion_tokens": 2, "total_tokens": 23},
        ),
        usage=Usage(21, 2),
    ),
    Said(
        "Ollama: reasoning beside the answer",
        body(
            {"content": "Paris.", "reasoning": THOUGHTS},
            system_fingerprint="fp_ollama",
            usage={"prompt_tokens": 21, "completion_tokens": 40, "total_tokens": 61},
        ),
        usage=Usage(21, 40),
    ),
    Said("Ollama: thoughts only", body({"content": "", "reasoning": THOUGHTS}), text=""),
    Said(
        "MiniMax: thoughts in tags",
        body(
            {"content": f"<think>\n{THOUGHTS}\n</think>\n\nParis.", "audio_content": ""},
            usage={"total_tokens": 61, "total_characters": 0, "prompt_tokens": 21,
                   "completion_tokens": 40, "completion_tokens_details": {"reasoning_tokens": 37}},
            input_sensitive=False,
            output_sensitive=False,
            base_resp={"status_code": 0, "status_msg": ""},
        ),
        usage=Usage(21, 40),
    ),
    Said(
        "MiniMax with reasoning_split",
        body(
            {
                "content": "Paris.",
                "reasoning_content": THOUGHTS,
                "reasoning_details": [{"type": "reasoning.text", "text": THOUGHTS}],
            },
            base_resp={"status_code": 0, "status_msg": ""},
        ),
    ),
    Said(
        "LiteLLM in front of Claude",
        body(
            {
                "content": "Paris.",
                "reasoning_content": THOUGHTS,
                "thinking_blocks": [{"type": "thinking", "thinking": THOUGHTS, "signature": "s"}],
                "provider_specific_fields": {},
                "function_call": None,
                "tool_calls": None,
            },
            usage={
                "prompt_tokens": 21,
                "completion_tokens": 40,
                "total_tokens": 61,
                "completion_tokens_details": {"reasoning_tokens": 37},
                "prompt_tokens_details": {"cached_tokens": 5, "audio_tokens": None},
                "cache_creation_input_tokens": 0,
            },
        ),
        usage=Usage(21, 40, 5),
    ),
    Said(
        "Mistral: thoughts and answer as parts",
        body(
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHTS}]},
                    {"type": "text", "text": "Paris."},
                ]
            }
        ),
    ),
    Said(
        "a server with reasoning parts that hold a text",
        body({"content": [{"type": "reasoning", "text": THOUGHTS}, {"text": "Paris."}]}),
    ),
    Said("no finish_reason", body({"content": "Paris."}, None)),
    Said("another word for the end", body({"content": "Paris."}, "eos_token")),
    Said("another word for the limit", body({"content": "Par"}, "MAX_TOKENS"), "Par", "length"),
    Said("Mistral's word for a full context", body({"content": "Par"}, "model_length"), "Par",
         "length"),
    Said("GLM's word for a filter", body({"content": ""}, "sensitive"), "", "content_filter",
         refused=True),
    Said("usage that makes no sense", body({"content": "Paris."}, usage={"prompt_tokens": -1})),
)  # fmt: skip


@pytest.mark.parametrize("row", SAID, ids=[row.server for row in SAID])
def test_the_answer_is_what_the_model_said_and_not_what_it_thought(row: Said) -> None:
    reply = answered(row.body)
    assert (reply.text, reply.finish_reason) == (row.text, row.finish)
    assert reply.usage == (row.usage or Usage(estimated=True))
    assert reply.refused is row.refused


# --- calls of tools -----------------------------------------------------------------------------

FUNCTION = {"name": "look", "arguments": '{"word": "a"}'}
CALLS: tuple[tuple[str, dict[str, Any], tuple[ToolCall, ...]], ...] = (
    (
        "vLLM",
        {"content": None, "tool_calls": [
            {"id": "chatcmpl-tool-1", "type": "function", "function": FUNCTION}]},
        (ToolCall(id="chatcmpl-tool-1", name="look", arguments='{"word": "a"}'),),
    ),
    (
        "Ollama: arguments as an object, an index",
        {"content": "", "tool_calls": [
            {"id": "call_x", "index": 0, "type": "function",
             "function": {"name": "look", "arguments": {"word": "a"}}}]},
        (ToolCall(id="call_x", name="look", arguments='{"word": "a"}'),),
    ),
    (
        "llama.cpp: no ids",
        {"content": None, "tool_calls": [
            {"type": "function", "id": "", "function": FUNCTION},
            {"type": "function", "function": FUNCTION}]},
        (ToolCall(id="call_0", name="look", arguments='{"word": "a"}'),
         ToolCall(id="call_1", name="look", arguments='{"word": "a"}')),
    ),
    (
        "a server that gives parallel calls one id",
        {"content": None, "tool_calls": [
            {"id": "c", "function": FUNCTION}, {"id": "c", "function": FUNCTION}]},
        (ToolCall(id="c", name="look", arguments='{"word": "a"}'),
         ToolCall(id="call_1", name="look", arguments='{"word": "a"}')),
    ),
    (
        "MiniMax: thoughts before the call",
        {"content": f"<think>\n{THOUGHTS}\n</think>\n\n",
         "tool_calls": [{"id": "call_function_1", "type": "function", "function": FUNCTION}]},
        (ToolCall(id="call_function_1", name="look", arguments='{"word": "a"}'),),
    ),
    (
        "a server of before there were several",
        {"content": None, "function_call": FUNCTION},
        (ToolCall(id="call_0", name="look", arguments='{"word": "a"}'),),
    ),
    (
        "arguments that are no JSON are the model's own",
        {"content": None, "tool_calls": [
            {"id": "c", "function": {"name": "look", "arguments": '{"word": '}}]},
        (ToolCall(id="c", name="look", arguments='{"word": '),),
    ),
    (
        "no arguments",
        {"content": None, "tool_calls": [
            {"id": "c", "function": {"name": "look", "arguments": ""}}]},
        (ToolCall(id="c", name="look", arguments="{}"),),
    ),
)  # fmt: skip


@pytest.mark.parametrize("finish", ["tool_calls", "stop", "function_call"])
@pytest.mark.parametrize(
    ("message", "calls"), [row[1:] for row in CALLS], ids=[r[0] for r in CALLS]
)
def test_calls_of_tools_are_understood(
    message: dict[str, Any], calls: tuple[ToolCall, ...], finish: str
) -> None:
    reply = answered(body(message, finish))
    assert reply.tool_calls == calls
    assert reply.text == ""


# --- failures -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Failed:
    server: str
    status: int
    body: Any
    expected: type[CallError]
    words: str = ""


FAILED = (
    Failed("vLLM: unknown model", 404,
           {"error": {"message": "The model `x` does not exist.", "type": "NotFoundError",
                      "param": "model", "code": 404}}, UnknownModel),
    Failed("vLLM: prompt too long", 400,
           {"error": {"message": "This model's maximum context length is 4096 tokens.",
                      "type": "BadRequestError", "param": "input_tokens", "code": 400}},
           BadRequest, "maximum context length"),
    Failed("vLLM of old: the error is the body", 400,
           {"object": "error", "message": "bad value", "type": "BadRequestError", "param": None,
            "code": 400}, BadRequest, "bad value"),
    Failed("vLLM: the key is missing", 401, {"error": "Unauthorized"}, AuthFailed),
    Failed("vLLM: the request was dropped", 200, body({"content": "Par"}, "abort"), ServerFailed,
           "'abort'"),
    Failed("llama.cpp: still loading", 503,
           {"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}},
           ServerFailed, "Loading model"),
    Failed("llama.cpp: prompt too long", 400,
           {"error": {"code": 400, "message": "the request exceeds the available context size",
                      "type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 8}},
           BadRequest, "context size"),
    Failed("llama.cpp of 2025: prompt too long with 500", 500,
           {"error": {"code": 500, "message": "the request exceeds the available context size",
                      "type": "exceed_context_size_error"}}, BadRequest, "context size"),
    Failed("Ollama: unknown model", 404,
           {"error": {"message": "model 'x' not found", "type": "api_error", "param": None,
                      "code": None}}, UnknownModel),
    Failed("Ollama: not enough memory", 500,
           {"error": {"message": "model requires more system memory (5.3 GiB)",
                      "type": "api_error"}}, ServerFailed, "system memory"),
    Failed("MiniMax: a limit, with status 200", 200,
           {"choices": None, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}},
           RateLimited, "rate limit"),
    Failed("MiniMax: the key, with status 200", 200,
           {"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, AuthFailed),
    Failed("MiniMax: no balance, with status 200", 200,
           {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, AuthFailed,
           "billing"),
    Failed("MiniMax: a filter, with status 200", 200,
           {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}},
           ContentFiltered),
    Failed("MiniMax: wrong parameters, with status 200", 200,
           {"base_resp": {"status_code": 2013, "status_msg": "invalid params"}}, BadRequest),
    Failed("MiniMax: broken, with status 200", 200,
           {"base_resp": {"status_code": 1000, "status_msg": "unknown error"}}, ServerFailed),
    Failed("LiteLLM: the provider's limit", 429,
           {"error": {"message": "litellm.RateLimitError: slow", "type": "throttling_error",
                      "param": None, "code": "429"}}, RateLimited),
    Failed("LiteLLM: the key's budget", 400,
           {"error": {"message": "Budget has been exceeded! Current cost: 1",
                      "type": "budget_exceeded", "param": None, "code": "400"}},
           AuthFailed, "billing"),
    Failed("LiteLLM: a filter", 400,
           {"error": {"message": "litellm.ContentPolicyViolationError: no", "type": None,
                      "code": "400"}}, ContentFiltered),
    Failed("DeepSeek: no balance", 402,
           {"error": {"message": "Insufficient Balance", "type": "unknown_error",
                      "code": "invalid_request_error"}}, AuthFailed, "billing"),
    Failed("DeepSeek: broke off", 200, body({"content": "Par"}, "insufficient_system_resource"),
           ServerFailed),
    Failed("DashScope: a filter", 400,
           {"error": {"code": "data_inspection_failed", "message": "inappropriate content",
                      "type": "data_inspection_failed"}}, ContentFiltered),
    Failed("OpenRouter: an error with status 200", 200,
           {"error": {"code": 502, "message": "Provider returned error"}}, ServerFailed,
           "Provider returned error"),
    Failed("OpenRouter: a limit with status 200", 200,
           {"error": {"code": 429, "message": "slow", "metadata": {}}}, RateLimited),
    Failed("OpenRouter: an error of the choice", 200,
           {"choices": [{"message": {"content": ""}, "finish_reason": "error",
                         "error": {"code": 502, "message": "upstream broke"}}]},
           ServerFailed, "upstream broke"),
    Failed("OpenRouter: flagged", 403,
           {"error": {"code": 403, "message": "flagged",
                      "metadata": {"reasons": ["violence"], "flagged_input": "x"}}},
           ContentFiltered),
    Failed("FastAPI: nothing at this path", 404, {"detail": "Not Found"}, UnknownModel),
    Failed("FastAPI: a list of faults", 422,
           {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}, BadRequest,
           "field required"),
    Failed("a gateway that says it with status 200", 200, {"detail": "upstream away"},
           ServerFailed, "upstream away"),
    Failed("a text as the error", 500, {"error": "boom"}, ServerFailed, "boom"),
)  # fmt: skip


@pytest.mark.parametrize("row", FAILED, ids=[row.server for row in FAILED])
def test_a_failure_is_never_an_answer(row: Failed) -> None:
    with (
        answering(canned(row.body, status=row.status)) as provider,
        pytest.raises(CallError) as raised,
    ):
        ask(provider.base_url)
    assert type(raised.value) is row.expected
    assert row.words in str(raised.value)
    assert KEY not in str(raised.value)


# --- requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "extra",
    [
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_split": True},
        {"thinking": {"type": "disabled"}},
        {"options": {"num_ctx": 8192}},
        {"top_k": 20, "min_p": 0},
    ],
    ids=["Qwen on vLLM", "MiniMax", "MiniMax M3, GLM, DeepSeek", "Ollama", "sampling of vLLM"],
)
def test_what_only_one_server_knows_is_sent_as_the_catalogue_says(extra: dict[str, Any]) -> None:
    with answering(canned(body({"content": "Paris."}))) as provider:
        ask(provider.base_url, params=Params(extra_body=extra))
        [received] = provider.received
    assert {name: received.body[name] for name in extra} == extra


def test_openais_own_models_may_speak_of_thoughts() -> None:
    text = "<think>is the tag</think> to use."
    with answering(canned(body({"content": text}))) as provider:
        assert ask(provider.base_url, kind="openai_chat").text == text
        assert ask(provider.base_url).text == "to use."

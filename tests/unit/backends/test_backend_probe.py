"""One short call to a backend, by whatever kind it is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from skillopt.backends.base import ChatReply
from skillopt.backends.probe import MAX_OUTPUT_TOKENS, PROMPT, probe
from skillopt.backends.probe_process import examine
from skillopt.domain.agent import AgentAccess
from skillopt.domain.backend import Backend, Params
from skillopt.domain.messages import Message
from skillopt.domain.probe import ProbeReport, ProbeRequest
from skillopt.domain.usage import Usage
from skillopt.errors import AuthFailed, RateLimited

KEY, VARIABLE = "sk-planted-9876543210fedcba", "PLANTED_PROBE_KEY"
BACKEND = Backend(
    name="b",
    kind="openai_compatible",
    model="m",
    base_url="http://127.0.0.1:9/v1",
    api_key_env=VARIABLE,
    timeout_s=30,
)


class Chat:
    """A backend that answers, or fails, as told."""

    credential = "c"

    def __init__(self, outcome: ChatReply | BaseException) -> None:
        self.outcome = outcome
        self.asked: list[tuple[Sequence[Message], Params | None]] = []
        self.closed = False

    async def complete(self, messages, *, tools=(), sample=0, params=None, schema=None):
        self.asked.append((messages, params))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome

    async def close(self) -> None:
        self.closed = True


class Hanging(Chat):
    async def complete(self, messages, **_):
        await asyncio.sleep(3600)


def asked(chat: Chat, backend: Backend = BACKEND) -> ProbeReport:
    ticks = iter((10.0, 10.25))
    return asyncio.run(probe(chat, backend, clock=lambda: next(ticks)))


def test_a_backend_is_asked_once_for_a_word():
    chat = Chat(ChatReply("OK", "stop", Usage(9, 1)))
    found = asked(chat)
    assert found == ProbeReport(
        latency_s=0.25, input_tokens=9, output_tokens=1, finish_reason="stop"
    )
    [(messages, params)] = chat.asked
    assert [message.content for message in messages] == [PROMPT]
    assert params == Params(max_output_tokens=MAX_OUTPUT_TOKENS)


def test_a_reply_that_was_cut_off_is_a_sign_of_life():
    found = asked(Chat(ChatReply("", "length", Usage(9, MAX_OUTPUT_TOKENS))))
    assert (found.answered, found.finish_reason) == (True, "length")


def test_a_failure_keeps_its_class():
    with pytest.raises(RateLimited):
        asked(Chat(RateLimited("slow down")))


@pytest.mark.parametrize(
    ("params", "sent"),
    [
        (Params(), Params(max_output_tokens=MAX_OUTPUT_TOKENS)),
        (Params(max_output_tokens=7), Params(max_output_tokens=7)),
        (
            Params(max_output_tokens=9000, temperature=0.3, reasoning_effort="high"),
            Params(max_output_tokens=MAX_OUTPUT_TOKENS, temperature=0.3, reasoning_effort="high"),
        ),
        (Params(max_output_tokens=9000, extra_body={"thinking": {"budget_tokens": 4096}}), None),
    ],
)
def test_only_the_length_of_the_reply_is_bounded(params, sent):
    chat = Chat(ChatReply("OK", "stop", Usage()))
    asked(chat, BACKEND.model_copy(update={"params": params}))
    assert [given for _, given in chat.asked] == [sent]


def test_an_agent_program_is_given_no_parameters():
    chat = Chat(ChatReply("OK", "stop", Usage()))
    asked(chat, BACKEND.model_copy(update={"agent": AgentAccess(program="claude")}))
    assert [given for _, given in chat.asked] == [None]


# --- the process that does it -------------------------------------------------------------------


@pytest.fixture
def opened(monkeypatch):
    """Let the kind of the request open this chat."""

    def open_as(chat: Chat) -> Chat:
        monkeypatch.setattr("skillopt.backends.probe_process.open_backend", lambda *_: chat)
        return chat

    return open_as


def examined(timeout_s: float = 30, **environ: str):
    request = ProbeRequest(backend=BACKEND, timeout_s=timeout_s)
    return asyncio.run(examine(request, {VARIABLE: KEY, **environ}))


def test_an_answer_is_reported_and_the_client_closed(opened):
    chat = opened(Chat(ChatReply("OK", "stop", Usage(9, 1))))
    report = examined()
    assert report.answered
    assert (report.input_tokens, report.output_tokens, report.finish_reason) == (9, 1, "stop")
    assert chat.closed


def test_a_failure_is_reported_with_its_code_and_without_the_key(opened):
    chat = opened(Chat(AuthFailed(f"the key {KEY} is not known")))
    report = examined()
    assert (report.error, report.message) == ("auth", "the key [hidden] is not known")
    assert chat.closed


def test_whatever_a_plug_in_raises_is_reported_without_its_words(opened):
    opened(Chat(ValueError(f"oops {KEY}")))
    report = examined()
    assert (report.error, report.message) == ("internal", "unexpected ValueError")


def test_a_backend_that_never_answers_is_given_up(opened):
    opened(Hanging(ChatReply("", "stop", Usage())))
    report = examined(timeout_s=0.05)
    assert (report.error, report.message) == ("timeout", "no answer within 0.05 s")


def test_a_missing_key_is_reported_and_nothing_is_sent():
    report = asyncio.run(examine(ProbeRequest(backend=BACKEND, timeout_s=30), {}))
    assert report.error == "bad_config"
    assert VARIABLE in report.message

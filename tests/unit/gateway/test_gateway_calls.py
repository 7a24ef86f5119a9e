from __future__ import annotations

import pytest
from gateway_parts import OK, PROMPT, Bench, Flaky, ScriptedChat, failing

from skillopt.backends.base import ChatReply
from skillopt.domain.usage import Usage
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    BudgetExhausted,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)
from skillopt.gateway.retry import RetryPolicy
from skillopt.state.ports import Amount, Caps


@pytest.fixture
def bench() -> Bench:
    return Bench()


# --- one call -----------------------------------------------------------------------------------


def test_a_call_is_reserved_and_settled_with_what_the_provider_reported(bench: Bench) -> None:
    calls = bench.calls(ScriptedChat(OK))
    assert calls.complete(PROMPT) is OK
    spend = bench.spend()
    assert spend.calls["target"] == 1
    assert (spend.input_tokens, spend.output_tokens) == (70, 30)
    assert spend.micro_usd == 70 * 2 + 30 * 10
    assert spend.reserved == Amount()
    assert (calls.calls, calls.usage, calls.micro_usd) == (1, OK.usage, 440)


def test_the_reservation_is_in_flight_exactly_during_the_call(bench: Bench) -> None:
    chat, in_flight, seen = ScriptedChat(OK), set(), []
    chat.on_request = lambda: seen.append((set(in_flight), bench.spend().reserved))
    bench.calls(chat, in_flight=in_flight).complete(PROMPT)
    expected = Amount(calls=1, tokens=100 + 1024, micro_usd=100 * 2 + 1024 * 10)
    assert seen == [({"id-1"}, expected)]
    assert in_flight == set()


def test_usage_is_estimated_only_if_the_provider_gave_none(bench: Bench) -> None:
    silent = ChatReply("y" * 41, "stop", Usage(estimated=True))
    calls = bench.calls(ScriptedChat(silent, OK))
    calls.complete(PROMPT)
    assert calls.usage == Usage(100, 11, estimated=True)
    before = bench.spend()
    assert (before.input_tokens, before.output_tokens) == (100, 11)
    calls.complete(PROMPT)
    assert bench.spend().input_tokens - before.input_tokens == 70


# --- retries ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [RateLimited, ServerFailed, CallTimeout, ConnectionFailed])
def test_a_retry_that_succeeds_gives_the_reply(bench: Bench, kind) -> None:
    chat = ScriptedChat(failing(kind), failing(kind), OK)
    calls = bench.calls(chat)
    assert calls.complete(PROMPT) is OK
    assert chat.requests == calls.calls == 3
    assert bench.waits == [0.25, 0.5]  # half of the bounds, as drawn


def test_every_try_is_reserved_and_settled_once(bench: Bench) -> None:
    bench.budgets = Flaky(bench.state.budgets)
    bench.calls(ScriptedChat(failing(ServerFailed), failing(CallTimeout), OK)).complete(PROMPT)
    done = [(name, args[1]) for name, args, _ in bench.budgets.log]
    assert done == [(name, f"id-{n}") for n in (1, 2, 3) for name in ("reserve", "settle")]
    spend = bench.spend()
    assert spend.calls["target"] == 3
    assert spend.reserved == Amount()
    assert spend.input_tokens == 70


@pytest.mark.parametrize("kind", [AuthFailed, UnknownModel, BadRequest, ContentFiltered])
def test_a_fatal_error_is_raised_after_one_request(bench: Bench, kind) -> None:
    chat = ScriptedChat(failing(kind))
    with pytest.raises(kind):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 1
    assert bench.waits == []
    assert bench.spend().reserved == Amount()


def test_the_number_of_tries_is_bounded(bench: Bench) -> None:
    chat = ScriptedChat(failing(ServerFailed))
    with pytest.raises(ServerFailed):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == bench.policy.max_tries


def test_the_total_time_is_bounded(bench: Bench) -> None:
    bench.policy = RetryPolicy(max_tries=100, total_s=250.0)
    chat = ScriptedChat(failing(CallTimeout))
    chat.on_request = lambda: bench.wait(100.0)
    with pytest.raises(CallTimeout):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 3


def test_retry_after_is_waited_for(bench: Bench) -> None:
    bench.calls(ScriptedChat(failing(ServerFailed, 7.0), OK)).complete(PROMPT)
    assert bench.waits == [7.0]


def test_a_wait_longer_than_allowed_in_place_gives_the_job_back(bench: Bench) -> None:
    chat = ScriptedChat(failing(ServerFailed, 21.0), OK)
    with pytest.raises(ServerFailed) as raised:
        bench.calls(chat).complete(PROMPT)
    assert raised.value.retry_after_s == 21.0
    assert bench.waits == []


def test_a_cut_call_is_settled_as_a_call_without_tokens(bench: Bench) -> None:
    class CutError(Exception):
        pass

    calls = bench.calls(ScriptedChat(CutError()))
    with pytest.raises(CutError):
        calls.complete(PROMPT)
    spend = bench.spend()
    assert (spend.calls["target"], spend.input_tokens, spend.reserved) == (1, 0, Amount())
    assert calls.in_flight == set()


def test_a_job_that_was_told_to_stop_reserves_nothing(bench: Bench) -> None:
    class StoppedError(Exception):
        pass

    def stopped(seconds: float) -> None:
        raise StoppedError

    chat = ScriptedChat(OK)
    with pytest.raises(StoppedError):
        bench.calls(chat, wait=stopped).complete(PROMPT)
    assert chat.requests == 0
    assert sum(bench.spend().calls.values()) == 0


# --- budget -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("caps", "refused"),
    [
        (Caps(calls=1), "calls"),
        (Caps(tokens=1200), "tokens"),
        (Caps(micro_usd=10_500), "usd"),
    ],
)
def test_a_refused_call_is_not_made(bench: Bench, caps: Caps, refused: str) -> None:
    bench.state.budgets.set_caps("r1", caps)
    chat = ScriptedChat(OK)
    calls = bench.calls(chat)
    calls.complete(PROMPT)
    with pytest.raises(BudgetExhausted, match=rf"'r1' allows no more {refused}"):
        calls.complete(PROMPT)
    assert chat.requests == 1
    assert bench.spend().refused == refused
    assert bench.spend().reserved == Amount()


def test_a_retry_needs_budget_too(bench: Bench) -> None:
    bench.state.budgets.set_caps("r1", Caps(calls=2))
    chat = ScriptedChat(failing(ServerFailed))
    with pytest.raises(BudgetExhausted):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 2


# --- the state is away --------------------------------------------------------------------------


def test_a_paid_reply_survives_a_state_that_is_away_when_it_is_settled(bench: Bench) -> None:
    bench.budgets = Flaky(bench.state.budgets, settle=3)
    chat = ScriptedChat(OK)
    assert bench.calls(chat).complete(PROMPT) is OK
    assert chat.requests == 1
    assert bench.spend().input_tokens == 70
    assert bench.spend().reserved == Amount()


def test_reserving_and_the_throttle_wait_for_the_state(bench: Bench) -> None:
    bench.budgets = Flaky(bench.state.budgets, reserve=2)
    bench.throttle = Flaky(bench.state.throttle, admit=2, leave=2)
    chat = ScriptedChat(failing(RateLimited, 1.0), OK)
    assert bench.calls(chat).complete(PROMPT) is OK
    assert chat.requests == 2

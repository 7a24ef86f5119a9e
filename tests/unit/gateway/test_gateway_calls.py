from __future__ import annotations

import pytest
from gateway_parts import OK, PROMPT, Bench, Flaky, ScriptedChat, failing

from skillopt.backends.base import ChatReply
from skillopt.domain.backend import Params
from skillopt.domain.usage import Usage
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    BudgetExhausted,
    BudgetHeld,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)
from skillopt.gateway.estimates import MESSAGE_TOKENS
from skillopt.gateway.gateway import HELD_TRIES
from skillopt.gateway.retry import RetryPolicy
from skillopt.state.ports import Amount, Caps, Refusal, Scope


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
    prompt = 400 // 2 + MESSAGE_TOKENS
    most = Amount(calls=1, tokens=prompt + 1024, micro_usd=prompt * 2 + 1024 * 10)
    assert seen == [({"id-1"}, most)]
    assert in_flight == set()


def test_usage_is_estimated_only_if_the_provider_gave_none(bench: Bench) -> None:
    silent = ChatReply("y" * 41, "stop", Usage(estimated=True))
    calls = bench.calls(ScriptedChat(silent, OK))
    calls.complete(PROMPT)
    assert calls.usage == Usage(100, 11, estimated=True)
    before = bench.spend()
    assert (before.input_tokens, before.output_tokens) == (100, 11)
    assert before.estimated_tokens == 111
    calls.complete(PROMPT)
    assert bench.spend().estimated_tokens == 111
    assert bench.spend().input_tokens - before.input_tokens == 70


def test_a_count_of_tokens_that_cannot_be_is_not_believed(bench: Bench) -> None:
    absurd = ChatReply("y" * 41, "stop", Usage(10**30, 5))
    calls = bench.calls(ScriptedChat(absurd))
    calls.complete(PROMPT)
    assert calls.usage == Usage(100, 11, estimated=True)


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
    ends = ("settle", "settle_unknown", "settle")
    assert done == [
        (name, f"id-{n}") for n, end in enumerate(ends, start=1) for name in ("reserve", end)
    ]
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


# --- what a try without a reply costs ----------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        *(failing(kind) for kind in (RateLimited, ServerFailed, AuthFailed, UnknownModel)),
        *(failing(kind) for kind in (BadRequest, ContentFiltered)),
        ConnectionFailed("refused", may_be_billed=False),
    ],
    ids=lambda error: f"{type(error).__name__}-{error}",
)
def test_a_try_that_the_provider_refused_is_a_call_without_tokens(bench: Bench, error) -> None:
    bench.policy = RetryPolicy(max_tries=1)
    with pytest.raises(type(error)):
        bench.calls(ScriptedChat(error)).complete(PROMPT)
    spend = bench.spend()
    assert (spend.calls["target"], spend.input_tokens, spend.micro_usd) == (1, 0, 0)
    assert spend.reserved == spend.unconfirmed == Amount()


@pytest.mark.parametrize(
    "error",
    [
        failing(CallTimeout),
        failing(ConnectionFailed),
        ServerFailed("half an answer", may_be_billed=True),
        RuntimeError("cut by a drain"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_try_without_the_providers_word_may_have_been_billed(bench: Bench, error) -> None:
    bench.policy = RetryPolicy(max_tries=1)
    calls = bench.calls(ScriptedChat(error))
    with pytest.raises(type(error)):
        calls.complete(PROMPT)
    spend = bench.spend()
    prompt = 400 // 2 + MESSAGE_TOKENS
    assert spend.unconfirmed == Amount(1, prompt + 1024, prompt * 2 + 1024 * 10)
    assert (spend.calls["target"], spend.input_tokens, spend.reserved) == (1, 0, Amount())
    assert calls.in_flight == set()
    assert calls.calls == 1


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
        (Caps(tokens=1300), "tokens"),
        (Caps(micro_usd=11_000), "usd"),
    ],
)
def test_a_refused_call_is_not_made(bench: Bench, caps: Caps, refused: str) -> None:
    bench.state.budgets.set_caps("r1", caps)
    chat = ScriptedChat(OK)
    calls = bench.calls(chat)
    calls.complete(PROMPT)
    with pytest.raises(BudgetExhausted, match=rf"of run 'r1' allows no more {refused}"):
        calls.complete(PROMPT)
    assert chat.requests == 1
    assert bench.spend().refused == Refusal(Scope("run", "r1"), refused)
    assert bench.spend().reserved == Amount()


def test_an_owner_who_refuses_is_named(bench: Bench) -> None:
    bench.state.budgets.join("r1", owner="alice")
    bench.state.budgets.set_shared_caps(Scope("owner", "alice"), {"calls": 0})
    chat = ScriptedChat(OK)
    with pytest.raises(BudgetExhausted, match="the budget of owner 'alice' allows no more calls"):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 0


def test_a_call_waits_for_what_calls_in_flight_hold_of_the_budget(bench: Bench) -> None:
    bench.state.budgets.set_caps("r1", Caps(tokens=2000))
    other = Amount(calls=1, tokens=1500)
    bench.state.budgets.reserve("r1", "other", job="j2", role="target", estimate=other)
    chat = ScriptedChat(OK)

    def wait(seconds: float) -> None:
        if seconds:  # meanwhile the other call ends, cheaper
            bench.state.budgets.settle(
                "r1", "other", input_tokens=10, output_tokens=10, micro_usd=0
            )
        bench.wait(seconds)

    assert bench.calls(chat, wait=wait).complete(PROMPT) is OK
    assert len(bench.waits) == 1
    assert chat.requests == 1
    assert bench.spend().refused is None


def test_a_job_that_has_paid_for_a_call_waits_longer_for_the_budget_of_its_next(
    bench: Bench,
) -> None:
    calls = bench.calls(ScriptedChat(OK))
    calls.complete(PROMPT)
    bench.state.budgets.set_caps("r1", Caps(tokens=2000))
    other = Amount(calls=1, tokens=1500)
    bench.state.budgets.reserve("r1", "other", job="j2", role="target", estimate=other)
    with pytest.raises(BudgetHeld):
        calls.complete(PROMPT)
    assert len(bench.waits) == bench.policy.max_tries - 1


def test_a_call_that_waits_too_long_for_budget_is_given_back_without_a_slot(bench: Bench) -> None:
    bench.state.budgets.set_caps("r1", Caps(tokens=2000))
    other = Amount(calls=1, tokens=1500)
    bench.state.budgets.reserve("r1", "other", job="j2", role="target", estimate=other)
    bench.throttle = Flaky(bench.state.throttle)
    with pytest.raises(BudgetHeld, match=r"run 'r1' \(tokens\) is held by calls in flight"):
        bench.calls(ScriptedChat(OK)).complete(PROMPT)
    ends = [args[3].kind for name, args, _ in bench.throttle.log if name == "leave"]
    assert ends == ["unsent"] * HELD_TRIES


def test_output_is_reserved_at_the_limit_that_the_call_sets(bench: Bench) -> None:
    chat, seen = ScriptedChat(OK), []
    chat.on_request = lambda: seen.append(bench.spend().reserved.tokens)
    bench.calls(chat).complete(PROMPT, params=Params(max_output_tokens=50))
    assert seen == [400 // 2 + MESSAGE_TOKENS + 50]


def test_a_backend_without_a_price_counts_as_not_priced(bench: Bench) -> None:
    bench.backend = bench.backend.model_copy(update={"price": None, "subscription": True})
    bench.calls(ScriptedChat(OK)).complete(PROMPT)
    assert (bench.spend().micro_usd, bench.spend().unpriced_calls) == (0, 1)


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

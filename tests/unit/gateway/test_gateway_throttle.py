"""How calls meet the shared throttle: waiting in place, giving back, reporting their end."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from gateway_parts import BACKEND, OK, PROMPT, Bench, ScriptedChat, failing
from throttle_scopes import held_s, hold

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import Waiting, waiting_for
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    BudgetExhausted,
    CallError,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    EndpointDown,
    RateLimited,
    ServerFailed,
    Throttled,
    UnknownModel,
)
from skillopt.gateway.retry import RetryPolicy
from skillopt.gateway.throttling import scope_of
from skillopt.state.ports import Admission, Amount, Caps, Standing


@pytest.fixture
def bench() -> Bench:
    return Bench()


def limited(bench: Bench, **limits: int) -> Bench:
    bench.backend = BACKEND.model_copy(update={"limits": Limits(**limits)})
    return bench


def standing(bench: Bench) -> Standing:
    scope = scope_of(bench.backend, ScriptedChat(OK))
    return bench.state.throttle.standing(scope, bench.backend.limits)


class WaitingError(Exception):
    """Raised in place of a wait, so that the caller stays where it is."""


def raise_waiting(seconds: float) -> None:
    if seconds:
        raise WaitingError


# --- pauses -------------------------------------------------------------------------------------


def test_everybody_with_the_credential_waits_after_a_429(bench: Bench) -> None:
    calls = bench.calls(ScriptedChat(failing(RateLimited, 5.0)), wait=raise_waiting)
    with pytest.raises(WaitingError):
        calls.complete(PROMPT)
    began, started_at = bench.clock.now, []
    other = ScriptedChat(OK)
    other.on_request = lambda: started_at.append(bench.clock.now)
    bench.calls(other).complete(PROMPT)
    assert started_at[0] >= began + 5.0
    assert sum(bench.waits) <= 5.0 * 1.1


def test_another_credential_does_not_wait(bench: Bench) -> None:
    hold(bench.state, "c1", 5.0)
    bench.calls(ScriptedChat(OK, credential="c2")).complete(PROMPT)
    assert bench.waits == []


@pytest.mark.parametrize("error", [failing(RateLimited), failing(ServerFailed, 5.0)])
def test_only_a_429_that_says_how_long_holds_the_credential(bench: Bench, error) -> None:
    bench.calls(ScriptedChat(error, OK)).complete(PROMPT)
    bench.clock.now = 1000.0
    assert held_s(bench.state, "c1") == 0


def test_a_long_hold_gives_the_job_back_without_a_call(bench: Bench) -> None:
    hold(bench.state, "c1", 60.0)
    chat = ScriptedChat(OK)
    with pytest.raises(Throttled, match=r"throttled by 'b' until \d\d:\d\d:\d\d UTC") as raised:
        bench.calls(chat).complete(PROMPT)
    assert 60.0 <= (raised.value.retry_after_s or 0) <= 66.0
    assert chat.requests == 0
    assert bench.waits == []
    assert sum(bench.spend().calls.values()) == 0


def test_a_long_retry_after_holds_everybody_and_gives_the_job_back(bench: Bench) -> None:
    with pytest.raises(RateLimited) as raised:
        bench.calls(ScriptedChat(failing(RateLimited, 90.0), OK)).complete(PROMPT)
    assert raised.value.retry_after_s == 90.0
    assert held_s(bench.state, "c1") == 90.0


@pytest.mark.parametrize(("wait_limit_s", "total_s"), [(50.0, 300.0), (300.0, 50.0)])
def test_a_throttle_that_lasts_is_not_waited_for_in_place(
    bench: Bench, wait_limit_s: float, total_s: float
) -> None:
    class AlwaysHeld:
        def admit(self, *args: object, **kwargs: object) -> Admission:
            return Admission(Waiting("hold", 10.0))

    bench.throttle, bench.throttle_wait_s = AlwaysHeld(), wait_limit_s
    bench.policy = RetryPolicy(total_s=total_s)
    with pytest.raises(Throttled):
        bench.calls(ScriptedChat(OK)).complete(PROMPT)
    assert len(bench.waits) > 1
    assert sum(bench.waits) <= 50.0


# --- rates and calls at a time ------------------------------------------------------------------


def test_calls_over_the_rate_wait_in_place_and_are_then_sent(bench: Bench) -> None:
    chat = ScriptedChat(OK)
    calls = limited(bench, rpm=20).calls(chat)
    for _ in range(10):
        calls.complete(PROMPT)
    assert chat.requests == 10
    assert sum(bench.waits) > 0
    assert max(bench.waits) <= bench.throttle_wait_s


def test_a_rate_that_leaves_no_room_soon_gives_the_job_back(bench: Bench) -> None:
    chat = ScriptedChat(OK)
    calls = limited(bench, rpm=1).calls(chat)
    calls.complete(PROMPT)
    with pytest.raises(Throttled, match="requests per minute") as raised:
        calls.complete(PROMPT)
    assert (raised.value.retry_after_s or 0) > bench.throttle_wait_s
    assert chat.requests == 1


def test_tokens_are_estimated_before_the_call_and_corrected_after_it(bench: Bench) -> None:
    calls = limited(bench, tpm=20_000).calls(ScriptedChat(OK))
    for _ in range(8):
        calls.complete(PROMPT)  # estimated at 1124 of 1940 that may start at once, takes 100
    assert bench.waits == []


@pytest.mark.parametrize("error", [ServerFailed, RateLimited, BadRequest])
def test_a_call_that_failed_took_no_tokens(bench: Bench, error: type[CallError]) -> None:
    bench.policy = RetryPolicy(max_tries=1)
    limited(bench, tpm=20_000)
    for _ in range(5):
        with pytest.raises(error):
            bench.calls(ScriptedChat(failing(error))).complete(PROMPT)
        bench.clock.now += 0.001
    assert bench.waits == []


def test_a_slot_is_taken_exactly_during_the_call(bench: Bench) -> None:
    chat, seen = ScriptedChat(failing(ServerFailed), OK), []
    chat.on_request = lambda: seen.append(standing(bench).in_flight)
    bench.calls(chat).complete(PROMPT)
    assert seen == [1, 1]
    assert standing(bench).in_flight == 0


@pytest.mark.parametrize(
    "error", [failing(AuthFailed), failing(CallTimeout), ValueError("a defect")]
)
def test_a_slot_is_given_back_however_the_call_ends(bench: Bench, error: Exception) -> None:
    bench.policy = RetryPolicy(max_tries=1)
    with pytest.raises(type(error)):
        bench.calls(ScriptedChat(error)).complete(PROMPT)
    assert standing(bench).in_flight == 0


def test_a_call_that_the_budget_refuses_takes_nothing_from_the_rate(bench: Bench) -> None:
    bench.state.budgets.set_caps("r1", Caps(calls=0))
    calls = limited(bench, rpm=2).calls(ScriptedChat(OK))
    for _ in range(5):
        with pytest.raises(BudgetExhausted):
            calls.complete(PROMPT)
    assert standing(bench).in_flight == 0
    bench.state.budgets.set_caps("r1", Caps())
    assert calls.complete(PROMPT) is OK
    assert bench.waits == []


def test_a_job_told_to_stop_when_its_turn_comes_gives_its_slot_back(bench: Bench) -> None:
    def stopped(seconds: float) -> None:
        raise WaitingError

    with pytest.raises(WaitingError):
        bench.calls(ScriptedChat(OK), wait=stopped).complete(PROMPT)
    assert standing(bench).in_flight == 0
    assert bench.spend().reserved == Amount()


def test_a_429_lowers_the_calls_at_a_time(bench: Bench) -> None:
    bench.calls(ScriptedChat(failing(RateLimited), OK)).complete(PROMPT)
    assert standing(bench).allowed == 1


def test_calls_beyond_those_allowed_wait_until_one_ends(bench: Bench) -> None:
    limited(bench, concurrency=1)
    scope, limits = scope_of(bench.backend, ScriptedChat(OK)), bench.backend.limits
    assert bench.state.throttle.admit(scope, limits, "another", tokens=0).granted
    chat = ScriptedChat(OK)
    with pytest.raises(Throttled, match="1 call at a time"):
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 0
    bench.clock.now += 60  # its worker died
    assert bench.calls(chat).complete(PROMPT) is OK


# --- breaker ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ServerFailed, ConnectionFailed])
def test_an_endpoint_that_keeps_failing_is_left_alone_and_tried_again(
    bench: Bench, error: type[CallError]
) -> None:
    bench.policy, bench.throttle_wait_s = RetryPolicy(max_tries=1), 1.0
    chat = ScriptedChat(failing(error))
    for _ in range(10):
        with pytest.raises(error):
            bench.calls(chat).complete(PROMPT)
    said = r"the endpoint of backend 'b' is down \(it failed\): it is tried again at "
    with pytest.raises(EndpointDown, match=said) as raised:
        bench.calls(chat).complete(PROMPT)
    assert chat.requests == 10
    bench.clock.now += raised.value.retry_after_s or 0
    assert bench.calls(ScriptedChat(OK)).complete(PROMPT) is OK
    assert standing(bench).breaker == "closed"


@pytest.mark.parametrize(
    "error", [RateLimited, CallTimeout, AuthFailed, UnknownModel, BadRequest, ContentFiltered]
)
def test_other_errors_never_close_the_way_to_an_endpoint(
    bench: Bench, error: type[CallError]
) -> None:
    bench.policy = RetryPolicy(max_tries=1)
    for _ in range(30):
        with pytest.raises(error):
            bench.calls(ScriptedChat(failing(error))).complete(PROMPT)
    assert standing(bench).breaker == "closed"


def test_backends_behind_one_address_share_an_endpoint_that_does_not_show_it() -> None:
    url = "https://secret-host.example/v1"
    one, other = (BACKEND.model_copy(update={"name": n, "base_url": url}) for n in "ab")
    chat = ScriptedChat(OK)
    assert scope_of(one, chat).endpoint == scope_of(other, chat).endpoint
    assert "secret" not in str(scope_of(one, chat))
    elsewhere = one.model_copy(update={"base_url": "https://else.example/v1"})
    assert scope_of(elsewhere, chat).endpoint != scope_of(one, chat).endpoint


# --- words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("waiting", "words"),
    [
        (
            Waiting("hold", 60.0),
            "throttled by 'gpt' until 12:01:00 UTC (the provider asked for a pause)",
        ),
        (Waiting("rpm", 0.4), "throttled by 'gpt' (requests per minute)"),
        (Waiting("tpm", 15.0), "throttled by 'gpt' until 12:00:15 UTC (tokens per minute)"),
        (Waiting("slots", 0.25, "4"), "throttled by 'gpt' (4 calls at a time)"),
        (
            Waiting("breaker", 15.0, "HTTP 500"),
            "the endpoint of backend 'gpt' is down (HTTP 500): it is tried again at 12:00:15 UTC",
        ),
        (
            Waiting("breaker", 0.25, "HTTP 500"),
            "the endpoint of backend 'gpt' is down (HTTP 500): it is being tried again",
        ),
    ],
)
def test_waiting_is_told_in_words(waiting: Waiting, words: str) -> None:
    assert waiting_for("gpt", waiting, datetime(2026, 1, 1, 12, 0, tzinfo=UTC)) == words


def test_limits_that_change_hold_from_the_next_call_on(bench: Bench) -> None:
    in_force = Limits()
    calls = bench.calls(ScriptedChat(OK))
    calls = replace(calls, gateway=replace(calls.gateway, live_limits=lambda: in_force))
    for _ in range(3):
        calls.complete(PROMPT)
    assert bench.waits == []
    in_force = Limits(rpm=1)
    calls.complete(PROMPT)
    with pytest.raises(Throttled):
        calls.complete(PROMPT)

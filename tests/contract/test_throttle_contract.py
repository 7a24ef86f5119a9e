"""The shared throttle, on both adapters: pauses, rates, calls at a time, breaker."""

from __future__ import annotations

import itertools
from collections import deque

import pytest
from state_adapters import TIMING, Adapter
from throttle_scopes import FREE, hold, scope

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import Waiting
from skillopt.state.ports import CallEnd, EndKind, Standing, ThrottleScope

SCOPE = scope()
WINDOW_S = TIMING.limit_window_s
NAMES = itertools.count()


class Caller:
    """Makes calls one after the other, each with a slot of its own."""

    def __init__(self, adapter: Adapter, limits: Limits = FREE, where: ThrottleScope = SCOPE):
        self.throttle = adapter.state.throttle
        self.limits, self.where, self.made = limits, where, 0
        self.name = f"caller-{next(NAMES)}"

    def ask(self, tokens: int = 0) -> Waiting | None:
        """Ask for a slot, and keep it if it is granted."""
        slot = f"{self.name}-{self.made}"
        admission = self.throttle.admit(self.where, self.limits, slot, tokens=tokens)
        if admission.granted:
            self.made += 1
        return admission.waiting

    def end(self, kind: EndKind = "ok", nth: int = -1, **details) -> None:
        slot = f"{self.name}-{self.made + nth if nth < 0 else nth}"
        self.throttle.leave(self.where, self.limits, slot, CallEnd(kind, **details))

    def call(self, kind: EndKind = "ok", tokens: int = 0, **details) -> Waiting | None:
        waiting = self.ask(tokens)
        if waiting is None:
            self.end(kind, **details)
        return waiting

    def take(self, count: int) -> None:
        for _ in range(count):
            assert self.ask() is None

    @property
    def standing(self) -> Standing:
        return self.throttle.standing(self.where, self.limits)


def why(waiting: Waiting | None) -> str:
    return "" if waiting is None else waiting.why


# --- slots --------------------------------------------------------------------------------------


def test_without_limits_every_call_starts(adapter: Adapter):
    caller = Caller(adapter)
    caller.take(50)
    assert caller.standing == Standing(50, None, "closed", 0.0)


def test_no_more_calls_than_allowed_are_in_flight_and_a_freed_slot_is_taken_again(
    adapter: Adapter,
):
    caller = Caller(adapter, Limits(concurrency=3))
    caller.take(3)
    waiting = caller.ask()
    assert waiting == Waiting("slots", TIMING.throttle_poll_s, "3")
    caller.end(nth=0)
    assert caller.ask() is None
    assert why(caller.ask()) == "slots"


def test_asking_again_for_a_granted_slot_takes_no_second_one(adapter: Adapter):
    limits = Limits(concurrency=2, rpm=2)
    throttle = adapter.state.throttle
    for _ in range(5):
        assert throttle.admit(SCOPE, limits, "same", tokens=1).granted
    assert throttle.standing(SCOPE, limits).in_flight == 1


def test_leaving_twice_counts_once(adapter: Adapter):
    caller = Caller(adapter, Limits(concurrency=8))
    caller.take(8)
    for _ in range(5):
        caller.end("limited", nth=0)
    assert caller.standing.in_flight == 7
    assert caller.standing.allowed == 5  # one decrease, of eight in flight


def test_slots_of_a_dead_worker_come_back_and_renewed_ones_stay(adapter: Adapter):
    limits, throttle = Limits(concurrency=2), adapter.state.throttle
    for slot in ("dead", "alive"):
        assert throttle.admit(SCOPE, limits, slot, tokens=0).granted
    for _ in range(3):
        adapter.advance(TIMING.lease_s * 0.6)
        throttle.renew(SCOPE, ["alive", "unknown"])
    assert throttle.standing(SCOPE, limits).in_flight == 1
    assert throttle.admit(SCOPE, limits, "new", tokens=0).granted
    assert why(throttle.admit(SCOPE, limits, "more", tokens=0).waiting) == "slots"


def test_other_backends_and_credentials_have_slots_of_their_own(adapter: Adapter):
    limits = Limits(concurrency=1)
    Caller(adapter, limits).take(1)
    assert Caller(adapter, limits, scope("other")).ask() is None
    assert Caller(adapter, limits, scope(credential="c2")).ask() is None
    assert why(Caller(adapter, limits).ask()) == "slots"


# --- requests per minute ------------------------------------------------------------------------


@pytest.mark.parametrize("rpm", [1, 2, 7, 33, 100])
def test_no_sliding_window_sees_more_starts_than_allowed(adapter: Adapter, rpm: int):
    """Greedy callers: whenever one may start it does, and time moves on just enough."""
    caller, allowed = Caller(adapter, Limits(rpm=rpm)), max(1, int(rpm * TIMING.limit_share))
    now, starts, most = 0.0, deque[float](), 0
    while now < 3 * WINDOW_S and caller.made < 3 * 40:
        waiting = caller.ask()
        if waiting is None:
            starts.append(now)
            while starts[0] <= now - WINDOW_S:
                starts.popleft()
            most = max(most, len(starts))
            continue
        assert waiting.why == "rpm"
        step = waiting.for_s + 0.001
        adapter.advance(step)
        now += step
    assert most <= allowed
    if rpm <= 33:
        assert most >= 0.9 * allowed, "the limit is used"


def test_part_of_the_limit_may_start_at_once_and_the_rest_is_spread(adapter: Adapter):
    caller = Caller(adapter, Limits(rpm=100))
    caller.take(9)  # a tenth of 97
    assert why(caller.ask()) == "rpm"
    adapter.advance(WINDOW_S / 10)
    assert caller.ask() is None


def test_a_call_that_must_wait_is_not_charged(adapter: Adapter):
    caller = Caller(adapter, Limits(rpm=1))
    caller.take(1)
    waits = [caller.ask() for _ in range(5)]
    assert all(wait is not None and wait.for_s <= WINDOW_S + 1.1 for wait in waits)
    adapter.advance(WINDOW_S + 1.1)
    assert caller.ask() is None


def test_a_call_that_was_never_sent_is_not_charged(adapter: Adapter):
    caller = Caller(adapter, Limits(rpm=2))
    for _ in range(5):
        assert caller.call("unsent") is None
    assert caller.call() is None
    assert why(caller.ask()) == "rpm"


def test_backends_of_one_credential_share_its_rate(adapter: Adapter):
    limits = Limits(rpm=2)
    assert Caller(adapter, limits).call() is None
    assert why(Caller(adapter, limits, scope("other")).ask()) == "rpm"
    assert Caller(adapter, limits, scope(credential="c2")).ask() is None


# --- tokens per minute --------------------------------------------------------------------------


def test_no_sliding_window_sees_more_tokens_than_allowed(adapter: Adapter):
    caller, allowed = Caller(adapter, Limits(tpm=1000)), 970
    now, total, most = 0.0, 0, 0
    starts = deque[tuple[float, int]]()
    for number in range(60):
        tokens = (10, 200, 70, 400)[number % 4]
        while (waiting := caller.ask(tokens)) is not None:
            assert waiting.why == "tpm"
            adapter.advance(waiting.for_s + 0.001)
            now += waiting.for_s + 0.001
        starts.append((now, tokens))
        total += tokens
        while starts[0][0] <= now - WINDOW_S:
            total -= starts.popleft()[1]
        most = max(most, total)
    assert allowed * 0.7 <= most <= allowed


def test_an_estimate_is_corrected_by_what_the_call_took(adapter: Adapter):
    caller = Caller(adapter, Limits(tpm=1000))
    for _ in range(10):
        assert caller.ask(40) is None, "97 may start at once"
        caller.end(charged_tokens=40, taken_tokens=1)
    assert caller.ask(40) is None
    assert caller.ask(40) is None
    assert why(caller.ask(40)) == "tpm"


def test_a_call_that_took_more_than_estimated_delays_the_next(adapter: Adapter):
    caller = Caller(adapter, Limits(tpm=1000))
    assert caller.ask(10) is None
    caller.end(charged_tokens=10, taken_tokens=900)
    waiting = caller.ask(10)
    assert waiting is not None
    assert waiting.why == "tpm"
    assert waiting.for_s > WINDOW_S / 2


def test_a_call_larger_than_the_limit_goes_alone_and_is_paid_for_afterwards(adapter: Adapter):
    caller = Caller(adapter, Limits(tpm=1000))
    assert caller.ask(5000) is None
    waiting = caller.ask(1)
    assert waiting is not None
    assert waiting.for_s > 4 * WINDOW_S
    adapter.advance(waiting.for_s + 0.01)
    assert caller.ask(1) is None


# --- pauses that the provider asked for ---------------------------------------------------------


def test_a_pause_is_for_everybody_who_uses_the_credential(adapter: Adapter):
    hold(adapter.state, "c1", 10.0)
    for where in (SCOPE, scope("third", "c1", "e9")):
        waiting = Caller(adapter, where=where).ask()
        assert waiting is not None
        assert waiting.why == "hold"
        assert 9 < waiting.for_s <= 10
    assert Caller(adapter, where=scope(credential="c2")).ask() is None
    adapter.advance(10.1)
    assert Caller(adapter).ask() is None


def test_a_longer_pause_stays_and_a_shorter_one_is_prolonged(adapter: Adapter):
    caller = Caller(adapter)
    caller.take(3)
    for hold_s, least in ((100.0, 90), (10.0, 90), (200.0, 190)):
        caller.end("limited", nth=int(hold_s) % 3, hold_s=hold_s)
        assert caller.standing.hold_s > least


# --- calls at a time ----------------------------------------------------------------------------


def test_a_429_lowers_the_calls_at_a_time_once_in_a_cooldown(adapter: Adapter):
    caller = Caller(adapter)
    caller.take(20)
    for nth in range(5):
        caller.end("limited", nth=nth)
    assert caller.standing.allowed == 14
    adapter.advance(TIMING.concurrency_cooldown_s + 0.1)
    caller.end("limited", nth=5)
    assert caller.standing.allowed == 9  # of fourteen, although fifteen were in flight


def test_how_long_the_provider_asks_to_wait_does_not_stop_the_clock(adapter: Adapter):
    caller = Caller(adapter)
    caller.take(20)
    caller.end("limited", nth=0, hold_s=89.0)
    adapter.advance(TIMING.concurrency_cooldown_s + 0.1)
    caller.end("limited", nth=1, hold_s=89.0)
    assert caller.standing.allowed == 9


def test_calls_at_a_time_never_fall_below_the_minimum_nor_grow_over_the_maximum(
    adapter: Adapter,
):
    caller = Caller(adapter, Limits(concurrency=6, min_concurrency=2))
    seen = []
    for _ in range(6):
        caller.call("limited")
        seen.append(caller.standing.allowed)
        adapter.advance(TIMING.concurrency_cooldown_s + 0.1)
    assert set(seen) == {2}
    for _ in range(12):
        while caller.ask() is None:
            pass
        adapter.advance(TIMING.concurrency_growth_s + 0.1)
        adapter.state.throttle.renew(SCOPE, [f"{caller.name}-{n}" for n in range(caller.made)])
        caller.end("ok")
        seen.append(caller.standing.allowed)
    assert seen[-1] == 6
    assert max(seen) == 6
    assert sorted(seen) == seen


def test_calls_at_a_time_grow_only_while_they_are_used(adapter: Adapter):
    caller = Caller(adapter)
    caller.take(20)
    caller.end("limited")
    for nth in range(19):
        caller.end("unknown", nth=nth)
    for _ in range(4):
        adapter.advance(TIMING.concurrency_growth_s + 0.1)
        caller.call()
    assert caller.standing.allowed == 14


@pytest.mark.parametrize("kind", ["failed", "refused", "unknown", "unsent"])
def test_only_a_provider_that_asks_for_it_lowers_the_calls_at_a_time(
    adapter: Adapter, kind: EndKind
):
    caller = Caller(adapter)
    caller.take(4)
    caller.end(kind)
    assert caller.standing.allowed is None


# --- breaker ------------------------------------------------------------------------------------


def broken(adapter: Adapter, **where: str) -> Caller:
    caller = Caller(adapter, where=scope(**where))
    for _ in range(TIMING.breaker_failures):
        assert caller.call("failed", detail="HTTP 500") is None
    return caller


def test_an_endpoint_that_keeps_failing_is_left_alone(adapter: Adapter):
    caller = broken(adapter)
    waiting = caller.ask()
    assert waiting is not None
    assert (waiting.why, waiting.detail) == ("breaker", "HTTP 500")
    assert TIMING.breaker_open_s - 1 < waiting.for_s <= TIMING.breaker_open_s
    assert caller.standing.breaker == "open"
    shared = Caller(adapter, where=scope("other", "c2"))
    assert why(shared.ask()) == "breaker", "whatever backend or credential"
    assert Caller(adapter, where=scope(endpoint="e2")).ask() is None


@pytest.mark.parametrize("kind", ["ok", "limited", "refused"])
def test_an_answer_in_between_keeps_the_endpoint_in_use(adapter: Adapter, kind: EndKind):
    caller = Caller(adapter)
    for _ in range(3):
        for _ in range(TIMING.breaker_failures - 1):
            caller.call("failed")
        caller.call(kind)
    assert caller.standing.breaker == "closed"


def test_a_timeout_neither_proves_nor_excuses_an_endpoint(adapter: Adapter):
    caller = Caller(adapter)
    for _ in range(TIMING.breaker_failures):
        caller.call("unknown")
    assert caller.standing.breaker == "closed"
    for _ in range(TIMING.breaker_failures):
        caller.call("failed")
        caller.call("unknown")
    assert caller.standing.breaker == "open"


def test_after_a_while_one_call_tries_the_endpoint_and_an_answer_opens_it_for_all(
    adapter: Adapter,
):
    caller = broken(adapter)
    adapter.advance(TIMING.breaker_open_s + 0.1)
    assert caller.ask() is None
    assert caller.standing.breaker == "probing"
    assert why(caller.ask()) == "breaker"
    caller.end("ok")
    assert caller.standing.breaker == "closed"
    caller.take(5)


def test_a_try_that_fails_leaves_the_endpoint_alone_again(adapter: Adapter):
    caller = broken(adapter)
    for _ in range(3):
        adapter.advance(TIMING.breaker_open_s + 0.1)
        assert caller.call("failed", detail="still") is None
        assert caller.standing.breaker == "open"
        assert why(caller.ask()) == "breaker"


@pytest.mark.parametrize("how", ["its end is unknown", "its worker dies"])
def test_a_try_that_tells_nothing_lets_another_one_try(adapter: Adapter, how: str):
    caller = broken(adapter)
    adapter.advance(TIMING.breaker_open_s + 0.1)
    assert caller.ask() is None
    if how == "its worker dies":
        adapter.advance(TIMING.lease_s + 0.1)
    else:
        caller.end("unknown")
    assert caller.ask() is None
    assert why(caller.ask()) == "breaker"


def test_late_failures_of_calls_sent_before_do_not_prolong_the_rest(adapter: Adapter):
    early = Caller(adapter)
    early.take(3)
    caller = broken(adapter)
    adapter.advance(TIMING.breaker_open_s / 2)
    for nth in range(3):
        early.end("failed", nth=nth)
    adapter.advance(TIMING.breaker_open_s / 2 + 0.1)
    assert caller.ask() is None


# --- for people ---------------------------------------------------------------------------------


def test_what_calls_wait_for_is_told_by_backend_and_forgotten(adapter: Adapter):
    throttle = adapter.state.throttle
    assert throttle.waiting([]) == {}
    assert throttle.waiting(["gpt", "other"]) == {}
    hold(adapter.state, "c1", 30.0)
    Caller(adapter).ask()
    told = throttle.waiting(["gpt", "other"])
    assert list(told) == ["gpt"]
    assert told["gpt"].why == "hold"
    assert 29 < told["gpt"].for_s <= 30
    adapter.advance(30 + TIMING.throttle_shown_s + 0.1)
    assert throttle.waiting(["gpt"]) == {}


def test_what_an_endpoint_said_is_told_whatever_it_contains(adapter: Adapter):
    caller = Caller(adapter)
    said = "HTTP 500: a:b:c\n'ü' %d"
    for _ in range(TIMING.breaker_failures):
        caller.call("failed", detail=said)
    caller.ask()
    assert adapter.state.throttle.waiting(["gpt"])["gpt"].detail == said

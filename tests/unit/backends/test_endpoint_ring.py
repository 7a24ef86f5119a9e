"""Going round endpoints, and passing over those that failed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.endpoint_ring import ASIDE_S, EndpointRing
from skillopt.errors import (
    AuthFailed,
    BadRequest,
    CallTimeout,
    ConnectionFailed,
    ContentFiltered,
    RateLimited,
    ServerFailed,
    UnknownModel,
)


def test_endpoints_take_turns() -> None:
    ring = EndpointRing(3, first=1)
    assert [ring.choose(0) for _ in range(6)] == [1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("error", [ServerFailed, CallTimeout, ConnectionFailed, RateLimited])
def test_an_endpoint_that_failed_is_passed_over_for_a_while(error) -> None:
    ring = EndpointRing(2)
    assert ring.failed(0, error("no"), 100) is None
    assert {ring.choose(100 + ASIDE_S / 2) for _ in range(5)} == {1}
    assert {ring.choose(100 + ASIDE_S) for _ in range(2)} == {0, 1}


@pytest.mark.parametrize("error", [AuthFailed, UnknownModel, BadRequest, ContentFiltered])
def test_what_no_other_try_mends_does_not_move_calls_elsewhere(error) -> None:
    ring = EndpointRing(2)
    assert ring.failed(0, error("no"), 100) is None
    assert {ring.choose(100) for _ in range(2)} == {0, 1}


def test_a_retry_after_is_obeyed_for_the_endpoint_alone() -> None:
    ring = EndpointRing(2)
    assert ring.failed(0, RateLimited("no", retry_after_s=60), 100) is None
    assert {ring.choose(159) for _ in range(3)} == {1}
    assert {ring.choose(160) for _ in range(2)} == {0, 1}


def test_when_all_are_limited_a_caller_waits_for_the_first() -> None:
    ring = EndpointRing(3)
    assert ring.failed(0, RateLimited("no", retry_after_s=60), 100) is None
    assert ring.failed(1, RateLimited("no", retry_after_s=20), 100) is None
    assert ring.failed(2, RateLimited("no", retry_after_s=40), 101) == 19
    assert ring.choose(101) == 1


def test_when_all_failed_without_a_time_the_retry_policy_decides() -> None:
    ring = EndpointRing(2)
    ring.failed(0, ServerFailed("no"), 100)
    assert ring.failed(1, ServerFailed("no"), 101) is None
    assert ring.choose(101) == 0


@given(
    st.integers(1, 5),
    st.lists(st.tuples(st.floats(0, 50), st.booleans(), st.none() | st.floats(0, 90)), max_size=30),
)
def test_an_endpoint_that_is_free_is_always_preferred(size: int, calls) -> None:
    ring, now = EndpointRing(size), 0.0
    free_at = [0.0] * size
    for pause, fails, retry_after in calls:
        now += pause
        place = ring.choose(now)
        assert free_at[place] <= now or all(at > now for at in free_at)
        if fails:
            wait = ring.failed(place, RateLimited("no", retry_after_s=retry_after), now)
            free_at[place] = now + (ASIDE_S if retry_after is None else retry_after)
            assert wait is None or all(at > now for at in free_at)

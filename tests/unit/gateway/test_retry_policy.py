from __future__ import annotations

import pytest
from gateway_parts import failing
from hypothesis import given
from hypothesis import strategies as st

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

POLICY = RetryPolicy(max_tries=5, base_s=0.25, cap_s=10.0, total_s=100.0)
FAILURES = st.integers(min_value=1, max_value=60)
UNIFORM = st.floats(min_value=0, max_value=1, exclude_max=True)


@given(FAILURES, UNIFORM)
def test_jitter_is_drawn_from_zero_to_a_doubling_bound(failures: int, drawn: float) -> None:
    delay = POLICY.delay_s(failures, failing(ServerFailed), lambda: drawn)
    assert 0 <= delay <= min(POLICY.cap_s, POLICY.base_s * 2**failures)


def test_jitter_uses_the_whole_range() -> None:
    error = failing(ServerFailed)
    assert POLICY.delay_s(3, error, lambda: 0.0) == 0.0
    assert POLICY.delay_s(1, error, lambda: 1.0) == 0.5
    assert POLICY.delay_s(2, error, lambda: 1.0) == 1.0
    assert POLICY.delay_s(30, error, lambda: 1.0) == POLICY.cap_s


@given(FAILURES, UNIFORM, st.floats(min_value=0, max_value=1e6))
def test_retry_after_is_the_least_wait(failures: int, drawn: float, asked: float) -> None:
    jittered = POLICY.delay_s(failures, failing(RateLimited), lambda: drawn)
    delay = POLICY.delay_s(failures, failing(RateLimited, asked), lambda: drawn)
    assert delay == max(asked, jittered)


@pytest.mark.parametrize("kind", [RateLimited, ServerFailed, CallTimeout, ConnectionFailed])
def test_outages_are_tried_again_until_the_tries_are_used_up(kind) -> None:
    error = failing(kind)
    allowed = [n for n in range(1, 20) if POLICY.allows(n, error, elapsed_s=0, delay_s=0)]
    assert allowed == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "kind", [AuthFailed, UnknownModel, BadRequest, ContentFiltered, BudgetExhausted]
)
def test_fatal_errors_are_never_tried_again(kind) -> None:
    assert not POLICY.allows(1, failing(kind), elapsed_s=0, delay_s=0)


def test_a_try_that_would_start_after_the_deadline_is_not_made() -> None:
    error = failing(ServerFailed)
    assert POLICY.allows(1, error, elapsed_s=99, delay_s=1)
    assert not POLICY.allows(1, error, elapsed_s=99, delay_s=1.5)
    assert not POLICY.allows(1, error, elapsed_s=101, delay_s=0)

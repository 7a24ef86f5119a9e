"""The wait that a provider at its limit asks for, in all the ways in which it may say so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.backends.retry_after import LONGEST_RETRY_AFTER_S, retry_after_s

HOUR = LONGEST_RETRY_AFTER_S


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"Retry-After": " 3 "}, 3.0),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-4"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, HOUR),
        ({"retry-after": "1e300"}, HOUR),
        ({"retry-after": "31536000"}, HOUR),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after-ms": "what", "retry-after": "2"}, 2.0),
        ({"x-ms-retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 -0000"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00"}, 0.0),
        ({"retry-after": "Wed, 21 Oct 99999999999999999999 07:28:00 GMT"}, None),
        ({"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"}, HOUR),
    ],
)
def test_what_is_asked_for_outright(headers, expected) -> None:
    assert retry_after_s(429, headers) == expected


@pytest.mark.parametrize(
    ("raw", "seconds"),
    [
        ("6m0s", 360.0),
        ("1s", 1.0),
        ("120ms", 0.12),
        ("2m3.5s", 123.5),
        ("48h", HOUR),
        ("7.66s", 7.66),
        ("26", 26.0),
        ("-1s", None),
        ("m", None),
        ("1x", None),
        ("nan", None),
        ("", None),
        ("0", None),
        ("0s", None),
    ],
)
def test_a_limit_that_is_used_up_says_when_it_is_reset(raw, seconds) -> None:
    headers = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": raw}
    assert retry_after_s(429, headers) == seconds
    assert retry_after_s(429, {**headers, "retry-after": "2"}) == 2.0


def test_of_the_limits_that_are_used_up_the_last_counts() -> None:
    headers = {
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": "12s",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "6m0s",
        "x-ratelimit-remaining-images": "9",
        "x-ratelimit-reset-images": "30m",
    }
    assert retry_after_s(429, headers) == 360.0


def test_where_no_limit_is_known_to_be_used_up_the_wait_is_that_of_a_minute_at_most() -> None:
    short = {"x-ratelimit-reset-requests": "12ms", "x-ratelimit-reset-tokens": "8s"}
    assert retry_after_s(429, short) == 8.0
    left = {"x-ratelimit-remaining-requests": "4999", "x-ratelimit-remaining-tokens": "150"}
    assert retry_after_s(429, {**short, **left}) == 8.0
    assert retry_after_s(429, {"x-ratelimit-reset-requests": "23h59m"}) == 60.0


@pytest.mark.parametrize(
    "written",
    [
        lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        lambda at: at.isoformat(),
        lambda at: str(int(at.timestamp())),
        lambda at: str(int(at.timestamp() * 1000)),
    ],
    ids=["RFC 3339 with Z", "RFC 3339 with an offset", "epoch seconds", "epoch milliseconds"],
)
@pytest.mark.parametrize("limit", ["requests", "tokens", "input-tokens", "output-tokens"])
def test_anthropic_says_when_and_not_how_long(written, limit: str) -> None:
    at = datetime.now(UTC) + timedelta(seconds=100)
    headers = {
        f"anthropic-ratelimit-{limit}-remaining": "0",
        f"anthropic-ratelimit-{limit}-reset": written(at),
    }
    seconds = retry_after_s(429, headers)
    assert seconds is not None
    assert 60 < seconds <= 100


def test_a_reset_in_the_past_asks_for_nothing() -> None:
    assert retry_after_s(429, {"anthropic-ratelimit-tokens-reset": "2015-10-21T07:28:00Z"}) is None


@pytest.mark.parametrize("zone", [UTC, None])
def test_a_date_counts_from_now(zone) -> None:
    when = (datetime.now(UTC) + timedelta(seconds=100)).replace(tzinfo=zone)
    seconds = retry_after_s(429, {"retry-after": format_datetime(when)})
    assert seconds is not None
    assert 60 < seconds <= 100


@pytest.mark.parametrize(
    ("status", "read"),
    [(429, True), (503, True), (529, True), (400, False), (408, False), (500, False), (502, False)],
)
def test_only_an_answer_that_is_a_limit_is_obeyed(status: int, read: bool) -> None:
    for headers in ({"retry-after": "5"}, {"x-ratelimit-reset-requests": "5s"}):
        assert retry_after_s(status, headers) == (5.0 if read else None)


NAMES = (
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-ratelimit-reset",
    "x-ratelimit-reset-tokens",
    "anthropic-ratelimit-tokens-reset",
)


@given(st.sampled_from(NAMES), st.text() | st.from_regex(r"[0-9.eE+-]{1,12}(ms|s|m|h|d)?"))
def test_any_header_is_a_sane_number_or_none(name: str, raw: str) -> None:
    seconds = retry_after_s(429, {name: raw})
    assert seconds is None or 0 <= seconds <= HOUR

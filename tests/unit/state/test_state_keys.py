from __future__ import annotations

from dataclasses import fields

import pytest

from skillopt.domain.timing import Timing
from skillopt.state import keys

SHA = "0" * 64
BUILT = [
    keys.blob(SHA),
    keys.spec(SHA),
    keys.result(SHA),
    keys.lease(SHA),
    keys.job(SHA),
    keys.waiters(SHA),
    keys.dead(SHA),
    keys.skill(SHA),
    keys.doorbell("a-run.1"),
    keys.run("a-run.1"),
    keys.log("a-run.1"),
    keys.ledger("a-run.1"),
    keys.meter("a-run.1"),
    keys.reservations("a-run.1"),
    keys.estimates("a-run.1"),
    keys.settled("a-run.1", "host:1:2"),
    keys.view("a-run.1"),
    keys.requests("a-run.1"),
    keys.run_lease("a-run.1"),
    keys.hold("https://host:1/v1"),
    keys.rate("https://host:1/v1"),
    keys.slots("gpt", "https://host:1/v1"),
    keys.concurrency("gpt", "https://host:1/v1"),
    keys.breaker("https://host:1/v1"),
    keys.throttled("gpt"),
    keys.worker("gpt", "host:1"),
    keys.token(SHA),
    keys.TOKENS,
    *keys.shared_account("owner", "a.person-1"),
    keys.BUDGETS,
    keys.QUOTAS,
    keys.quota("a.person-1"),
    keys.share("gpt"),
    keys.RUNS,
    keys.OPEN_RUNS,
    keys.FLEET,
    keys.COORDINATORS,
    keys.SET_LIMITS,
    keys.NOTICES,
    keys.notices("a-run.1"),
    keys.telling("a-run.1"),
    keys.spending(20_775),
]


@pytest.mark.parametrize("key", BUILT)
def test_every_key_has_exactly_one_row(key: str):
    assert len([row for row in keys.TABLE if row.matches(key)]) == 1


def test_every_row_is_built_by_some_function():
    for row in keys.TABLE:
        assert any(row.matches(key) for key in BUILT), row.pattern


def test_every_ttl_is_a_known_duration():
    known = {field.name for field in fields(Timing)} | {keys.RUN, keys.SHARED, keys.GIVEN}
    assert {row.ttl for row in keys.TABLE} <= known


@pytest.mark.parametrize(
    ("key", "stays"),
    [
        ("so:run:r", True),
        ("so:run:r:log", True),
        ("so:run:r:ledger", True),
        ("so:run:r:meter", True),
        ("so:runlease:r", True),
        ("so:runs", True),
        ("so:run:r:view", False),
        ("so:run:r:other", False),
        ("so:job:r", False),
        ("so:done:r", False),
    ],
)
def test_only_listed_keys_live_with_their_run(key: str, stays: bool):
    assert keys.lives_with_its_run(key) is stays


def test_what_an_owner_has_spent_outlives_every_run():
    for key in (keys.BUDGETS, *keys.shared_account("team", "blue")):
        assert keys.may_stay(key)
        assert not keys.lives_with_its_run(key)
    assert keys.may_stay("so:run:r:meter")
    assert not keys.may_stay("so:job:r")

"""Tokens are random, shown once, and stored only as hashes."""

from __future__ import annotations

import hashlib

import pytest
import redis

from producer.tokens import issue, recognise
from skillopt.domain.timing import EMBEDDED
from skillopt.errors import InputError
from skillopt.state.memory.build import build
from skillopt.state.ports import Tokens
from skillopt.state.redis.connect import connect
from skillopt.state.urls import state_url


@pytest.fixture
def tokens() -> Tokens:
    return build(EMBEDDED, lambda: 1_800_000_000.0).tokens


def test_a_token_is_known_by_its_hash(tokens: Tokens):
    issued = issue(tokens, name="ci", role="runner", owner="alice", team="blue", days=2)
    assert issued.info.digest == hashlib.sha256(issued.secret.encode()).hexdigest()
    assert recognise(tokens, issued.secret) == issued.info
    assert issued.info.expires_at == issued.info.created_at + 2 * 86_400


def test_no_two_tokens_are_alike_and_each_has_32_random_bytes(tokens: Tokens):
    secrets = {issue(tokens, name=f"t{n}", role="viewer", owner="a").secret for n in range(50)}
    assert len(secrets) == 50
    assert {len(one) for one in secrets} == {len("sofl_") + 43}


@pytest.mark.parametrize("change", [str.upper, lambda s: s[:-1], lambda s: s + "A", lambda s: ""])
def test_what_is_nearly_a_token_is_none(tokens: Tokens, change):
    secret = issue(tokens, name="ci", role="runner", owner="alice").secret
    assert recognise(tokens, change(secret)) is None
    assert recognise(tokens, hashlib.sha256(secret.encode()).hexdigest()) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "a b"}, "name: 'a b'"),
        ({"name": ""}, "name: ''"),
        ({"owner": ""}, "owner: ''"),
        ({"owner": "a:b"}, "owner: 'a:b'"),
        ({"team": "-"}, "team: '-'"),
        ({"role": "boss"}, "role: 'boss' is not one of viewer, runner, admin"),
        ({"days": 0}, "days: 0"),
        ({"days": float("nan")}, "days: nan"),
    ],
)
def test_what_is_not_usable_is_named(tokens: Tokens, changes: dict[str, object], words: str):
    given = {"name": "ci", "role": "viewer", "owner": "alice", "team": "", **changes}
    with pytest.raises(InputError, match=words):
        issue(tokens, **given)
    assert tokens.all() == []


def test_a_name_is_used_once(tokens: Tokens):
    issue(tokens, name="ci", role="viewer", owner="alice")
    with pytest.raises(InputError, match="skillopt token revoke ci"):
        issue(tokens, name="ci", role="viewer", owner="bob")


def test_redis_never_holds_a_token(redis_url: str):
    with connect(redis_url, EMBEDDED) as state:
        secret = issue(state.tokens, name="ci", role="admin", owner="alice").secret
        assert recognise(state.tokens, secret) is not None
    with redis.Redis.from_url(state_url(redis_url)) as client:
        stored = [client.dump(key) for key in client.keys("*")] + client.keys("*")
    assert len(stored) >= 2
    for value in stored:
        assert secret.encode() not in value
        assert secret.removeprefix("sofl_").encode() not in value

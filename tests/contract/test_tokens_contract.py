"""Tokens are known by their hashes, one of a name at a time, until they end or are revoked."""

from __future__ import annotations

from state_adapters import Adapter

from skillopt.state.ports import State

A, B = "a" * 64, "b" * 64


def test_a_granted_token_is_found_by_its_hash_and_by_no_other(state: State):
    granted = state.tokens.grant(A, name="laptop", role="runner", owner="alice", team="blue")
    assert granted is not None
    assert (granted.digest, granted.name, granted.role) == (A, "laptop", "runner")
    assert (granted.owner, granted.team, granted.expires_at) == ("alice", "blue", None)
    assert state.tokens.find(A) == granted
    assert state.tokens.find(B) is None
    assert state.tokens.find("") is None


def test_a_name_is_taken_until_its_token_is_revoked(state: State):
    state.tokens.grant(A, name="ci", role="viewer", owner="alice")
    assert state.tokens.grant(B, name="ci", role="admin", owner="mallory") is None
    assert state.tokens.find(B) is None
    assert state.tokens.revoke("ci")
    assert state.tokens.grant(B, name="ci", role="admin", owner="bob") is not None
    assert state.tokens.find(A) is None


def test_granting_the_same_token_again_changes_nothing(state: State):
    first = state.tokens.grant(A, name="ci", role="viewer", owner="alice")
    assert state.tokens.grant(A, name="ci", role="admin", owner="alice") == first
    assert state.tokens.find(A) == first


def test_a_revoked_token_is_gone_at_once(state: State):
    state.tokens.grant(A, name="ci", role="viewer", owner="alice")
    assert state.tokens.revoke("ci")
    assert state.tokens.find(A) is None
    assert state.tokens.all() == []
    assert not state.tokens.revoke("ci")


def test_tokens_are_listed_by_name(state: State):
    state.tokens.grant(A, name="z", role="viewer", owner="alice")
    state.tokens.grant(B, name="m", role="admin", owner="bob")
    assert [one.name for one in state.tokens.all()] == ["m", "z"]


def test_a_token_with_a_term_ends_by_itself_and_frees_its_name(adapter: Adapter):
    tokens = adapter.state.tokens
    granted = tokens.grant(A, name="ci", role="viewer", owner="alice", ttl_s=60)
    assert granted is not None
    assert granted.expires_at == granted.created_at + 60
    adapter.advance(59)
    assert tokens.find(A) is not None
    adapter.advance(2)
    assert tokens.find(A) is None
    assert tokens.all() == []
    assert not tokens.revoke("ci")
    assert tokens.grant(B, name="ci", role="viewer", owner="alice") is not None

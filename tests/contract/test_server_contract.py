"""What each adapter says of the server behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis
from state_adapters import TIMING, Adapter

from skillopt.state.ports import REQUIRED_VERSION, ServerFacts, State
from skillopt.state.redis.connect import RedisState, connect
from skillopt.state.urls import queue_url


def test_a_server_takes_writes_and_tells_its_version(state: State):
    facts = state.server.facts()
    assert facts.writable
    assert facts.version


def test_the_clock_goes_forward(adapter: Adapter):
    first = adapter.state.server.now()
    assert first > 1_600_000_000
    assert adapter.state.server.now() >= first


def test_queues_that_hold_nothing_are_empty(state: State):
    assert state.server.queued(["cel:b.one", "cel:b.two"]) == {"cel:b.one": 0, "cel:b.two": 0}
    assert state.server.queued([]) == {}


@pytest.mark.parametrize(
    ("version", "numbers"),
    [("7.2.4", (7, 2, 4)), ("6.2", (6, 2)), ("8.0-rc1", (8,)), ("", ()), ("memory", ())],
)
def test_a_version_is_read_as_numbers_as_far_as_it_has_any(version, numbers):
    assert ServerFacts(version, writable=True).numbers == numbers


# --- Redis --------------------------------------------------------------------------------------


@pytest.fixture
def redis_state(redis_url: str) -> Iterator[RedisState]:
    with connect(redis_url, TIMING) as state:
        yield state


def test_settings_of_a_server_are_read(redis_state: RedisState):
    facts = redis_state.server.facts()
    assert facts.numbers >= REQUIRED_VERSION
    assert (facts.append_only, facts.eviction, facts.max_memory) == (False, "noeviction", 0)
    assert facts.fsync == "everysec"
    assert facts.used_memory is not None
    assert facts.used_memory > 0
    assert facts.databases == 16


def test_messages_in_the_brokers_database_are_counted(redis_url: str, redis_state: RedisState):
    with redis.Redis.from_url(queue_url(redis_url)) as broker:
        broker.rpush("cel:b.gpt", "one", "two")
    assert redis_state.server.queued(["cel:b.gpt", "cel:b.sim"]) == {
        "cel:b.gpt": 2,
        "cel:b.sim": 0,
    }


def test_a_server_that_hides_its_settings_is_still_described(redis_url: str, redis_state):
    """Many providers refuse CONFIG; a user without the right to it stands for them here."""
    client = redis_state.client
    client.execute_command("ACL", "SETUSER", "guest", "on", ">pw", "~*", "+@all", "-config")
    try:
        with connect(f"{redis_url}&username=guest&password=pw", TIMING) as state:
            facts = state.server.facts()
    finally:
        client.execute_command("ACL", "DELUSER", "guest")
    assert (facts.fsync, facts.databases) == (None, None)
    assert facts.eviction == "noeviction"
    assert facts.writable


def test_a_replica_does_not_take_writes(redis_state: RedisState):
    # Nobody listens on port 1: a replica without its master.
    redis_state.client.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        assert not redis_state.server.facts().writable
    finally:
        redis_state.client.execute_command("REPLICAOF", "NO", "ONE")

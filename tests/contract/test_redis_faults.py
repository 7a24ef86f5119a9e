"""What the Redis adapter makes of a server or of data that is not as it should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
import redis
from jobs import commit, take_lead, want
from key_leaks import leaked_keys
from state_adapters import TIMING

from skillopt.errors import StateCorrupt, StateUnavailable
from skillopt.state import keys
from skillopt.state.ports import State, WantStatus, WorkerInfo
from skillopt.state.redis.connect import SOCKET_TIMEOUT_S, RedisState, connect
from skillopt.state.redis.doorbell import LONGEST_BLOCK_S


@pytest.fixture
def state(redis_url: str) -> Iterator[RedisState]:
    with connect(redis_url, TIMING) as state:
        yield state


def test_a_server_that_is_away_is_unavailable(tmp_path: Path):
    with connect(f"unix://{tmp_path}/none.sock", TIMING) as state:
        operations: list[Callable[[], object]] = [
            lambda: state.runs.lead("r", "c"),
            lambda: state.runs.log("r"),
            lambda: state.blobs.put([b"x"]),
            lambda: state.doorbell.wait("r", "", timeout_s=1),
        ]
        for operation in operations:
            with pytest.raises(StateUnavailable):
                operation()


def test_a_full_server_is_unavailable_and_serves_again_when_there_is_room(state: RedisState):
    lead = take_lead(state)
    state.client.config_set("maxmemory", 1)
    try:
        with pytest.raises(StateUnavailable):
            want(state, lead)
        with pytest.raises(StateUnavailable):
            state.blobs.put([b"x"])
    finally:
        state.client.config_set("maxmemory", 0)
    want(state, lead)


def test_a_server_that_became_a_replica_is_unavailable(state: RedisState):
    lead = take_lead(state)
    # Nobody listens on port 1: a replica without its master.
    state.client.execute_command("REPLICAOF", "127.0.0.1", "1")
    try:
        with pytest.raises(StateUnavailable):
            state.runs.step(lead, version=0, events=["e"], status="s", open=True)
        with pytest.raises(StateUnavailable):
            state.runs.show_view("r1", "x")
    finally:
        state.client.execute_command("REPLICAOF", "NO", "ONE")
    assert state.runs.log("r1") == []


def test_a_server_that_forgot_the_scripts_gets_them_again(state: RedisState):
    lead = take_lead(state)
    state.client.script_flush()
    assert want(state, lead).status is WantStatus.SEND


def _wrong_type(client: redis.Redis) -> None:
    client.set(keys.run("r1"), "x")


def _no_json(client: redis.Redis) -> None:
    client.hset(keys.run("r1"), "meta", "{")


def _no_number(client: redis.Redis) -> None:
    client.hset(keys.run("r1"), "version", "x")


def _field_missing(client: redis.Redis) -> None:
    client.hdel(keys.run("r1"), "status")


@pytest.mark.parametrize("damage", [_wrong_type, _no_json, _no_number, _field_missing])
def test_a_damaged_run_is_corrupt(state: RedisState, damage: Callable[[redis.Redis], None]):
    state.runs.create("r1", meta={"a": "b"}, events=[], status="new")
    damage(state.client)
    for read in (lambda: state.runs.info("r1"), state.runs.all):
        with pytest.raises(StateCorrupt):
            read()


def test_values_that_are_no_text_or_of_the_wrong_type_are_corrupt(state: RedisState):
    lead = take_lead(state)
    commit(state, "j")
    state.client.hset(keys.result("j"), "line", b"\xff")
    with pytest.raises(StateCorrupt, match="'j'"):
        state.results.get(["j"])
    with pytest.raises(StateCorrupt):
        want(state, lead, "j")
    state.client.set(keys.waiters("k"), "x", px=1000)
    with pytest.raises(StateCorrupt):
        want(state, lead, "k")


@pytest.mark.parametrize("said", ["[]", "{", '{"worker": "b", "backend": "a"}'])
def test_a_worker_that_is_not_understood_is_not_counted(state: RedisState, said: str):
    known = WorkerInfo(worker="w", backend="a", fingerprint="f", capacity=1)
    state.fleet.announce(known)
    state.client.sadd(keys.FLEET, "a:b")
    state.client.set(keys.worker("a", "b"), said, px=1000)
    assert state.fleet.workers() == [known]


def test_a_worker_of_a_later_version_may_say_more(state: RedisState):
    known = WorkerInfo(worker="b", backend="a", fingerprint="f", capacity=1)
    state.fleet.announce(known)
    said = {**asdict(known), "news": 1}
    state.client.set(keys.worker("a", "b"), json.dumps(said), px=1000)
    assert state.fleet.workers() == [known]


@pytest.mark.parametrize("damage", [b"", b"not zstd", b"\x28\xb5\x2f\xfd\x00"])
def test_a_damaged_blob_is_absent_until_it_is_stored_again(state: RedisState, damage: bytes):
    [sha, other] = state.blobs.put([b"content", b"other"])
    state.client.set(keys.blob(sha), damage, px=1000)
    assert state.blobs.get([sha]) == {}
    state.client.copy(keys.blob(other), keys.blob(sha), replace=True)
    assert state.blobs.get([sha]) == {}
    state.blobs.put([b"content"])
    assert state.blobs.get([sha]) == {sha: b"content"}


def test_blobs_are_compressed(state: RedisState):
    [sha] = state.blobs.put([b"a" * 100_000])
    assert state.client.strlen(keys.blob(sha)) < 1000


def test_the_state_lives_beside_the_broker_not_in_it(state: RedisState, redis_server: Path):
    take_lead(state)
    with redis.Redis(unix_socket_path=str(redis_server), db=0) as broker:
        assert broker.dbsize() == 0
        broker.flushdb()
    assert state.runs.info("r1") is not None


def test_a_closed_state_may_be_closed_again(redis_url: str):
    state: State = connect(redis_url, TIMING)
    assert isinstance(state, RedisState)
    state.runs.open_runs()
    state.close()
    state.close()


def test_a_quiet_doorbell_never_looks_like_a_dead_server():
    assert LONGEST_BLOCK_S < SOCKET_TIMEOUT_S / 2


def test_the_leak_check_names_keys_that_would_stay_for_ever(state: RedisState, redis_url: str):
    take_lead(state)
    state.client.set("so:spec:forgotten", "x")
    state.client.set("celery-like", "x")
    assert leaked_keys(redis_url) == ["so:spec:forgotten"]
    state.client.delete("so:spec:forgotten")

"""The harness itself: what it does is decided by the seed, and what it counts is so."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from harness.relay import Relay
from harness.schedule import DURATIONS, LAST, Kind, schedule
from harness.supervised import Supervised
from harness.written import Written, read_written
from redis.backoff import NoBackoff
from redis.retry import Retry

JOB, OTHER = "a" * 64, "b" * 64
MULTI, EXEC = ["MULTI"], ["EXEC"]


def test_a_seed_names_the_same_faults_each_time_and_another_seed_others() -> None:
    assert schedule(3) == schedule(3)
    assert schedule(3) != schedule(4)


@pytest.mark.parametrize("seed", range(20))
def test_every_seed_has_every_kind_in_order_and_while_there_is_work(seed: int) -> None:
    faults = schedule(seed)
    assert {fault.kind for fault in faults} == set(Kind)
    assert [fault.share for fault in faults] == sorted(fault.share for fault in faults)
    assert all(0 < fault.share <= LAST for fault in faults)
    for fault in faults:
        least, most = DURATIONS.get(fault.kind, (0.0, 0.0))
        assert least <= fault.lasts_s <= most


def written_by(folder: Path, *commands: list[str], torn: bytes = b"") -> Written:
    encoded = b"".join(
        b"*%d\r\n" % len(words)
        + b"".join(b"$%d\r\n%s\r\n" % (len(w.encode()), w.encode()) for w in words)
        for words in commands
    )
    (folder / "aof").write_bytes(encoded + torn)
    return read_written(folder / "aof")


def test_claims_commits_and_finishes_are_counted(tmp_path: Path) -> None:
    finished = json.dumps({"type": "finished", "reason": "completed", "best": "x"})
    written = written_by(
        tmp_path,
        ["SELECT", "2"],
        *(MULTI, ["SET", f"so:lease:{JOB}", "w1", "PXAT", "1"], EXEC),
        ["DEL", f"so:lease:{JOB}"],
        *(MULTI, ["set", f"so:lease:{JOB}", "w2", "PXAT", "2"], EXEC),
        *(MULTI, ["HSETNX", f"so:res:{JOB}", "line", "é\r\n*"], EXEC),
        ["XADD", "so:run:r-1:log", "9-0", "at", "1", "event", finished],
        torn=b"*3\r\n$3\r\nSET\r\n$71\r\nso:le",
    )
    assert written.claims == {JOB: 2}
    assert written.commits == {JOB: 1}
    assert written.finishes == {"r-1": 1}
    assert written.needless == 1
    assert not written.overlaps


def test_a_job_taken_up_while_another_has_it_is_noticed(tmp_path: Path) -> None:
    claim = ["SET", f"so:lease:{JOB}", "w", "PXAT", "1"]
    other = ["SET", f"so:lease:{OTHER}", "w", "PXAT", "1"]
    written = written_by(tmp_path, claim, other, ["DEL", "x", f"so:lease:{OTHER}"], claim, other)
    assert written.overlaps == {JOB: 1}


def test_an_execution_that_nobody_wants_any_more_is_no_repetition(tmp_path: Path) -> None:
    claim = ["SET", f"so:lease:{JOB}", "w", "PXAT", "1"]
    other = ["SET", f"so:lease:{OTHER}", "w", "PXAT", "1"]

    def given_back(job: str, *more: list[str]) -> list[list[str]]:
        return [MULTI, ["HDEL", f"so:job:{job}", "sent", "claim_lane"], *more, EXEC]

    until = ["HSET", f"so:job:{OTHER}", "until", "5", "reason", "draining"]
    commits = [["HSETNX", f"so:res:{job}", "line", "{}"] for job in (JOB, OTHER)]
    taken_up = [claim, *given_back(JOB), claim, other, *given_back(OTHER, until), other]
    written = written_by(tmp_path, *taken_up, *commits)
    assert written.abandoned == {JOB: 1}
    assert written.claims.total() == 4
    assert written.needless == 1


def test_the_late_result_of_an_unwanted_job_makes_up_for_no_other_execution(tmp_path: Path) -> None:
    claim = ["SET", f"so:lease:{JOB}", "w", "PXAT", "1"]
    other = ["SET", f"so:lease:{OTHER}", "w", "PXAT", "1"]
    unwanted = ["HDEL", f"so:job:{JOB}", "sent", "claim_lane"]
    late = ["HSETNX", f"so:res:{JOB}", "line", "{}"]
    written = written_by(tmp_path, claim, unwanted, late, other)
    assert written.needless == 1


def test_who_waits_in_the_end_is_known(tmp_path: Path) -> None:
    first, second = f"so:wait:{JOB}", f"so:wait:{OTHER}"
    written = written_by(
        tmp_path,
        ["SADD", first, "r-1", "r-2"],
        ["SADD", second, "r-1"],
        ["SREM", first, "r-2"],
        ["DEL", f"so:job:{OTHER}", second],
    )
    assert written.waiting == {JOB: {"r-1"}}


def test_a_process_that_ends_is_started_again(tmp_path: Path) -> None:
    part = Supervised("sleeper", ["sleep", "60"], {"PATH": "/usr/bin:/bin"}, tmp_path / "log")
    part.start()
    first = part.pid
    assert first is not None
    part.tell(9)  # type: ignore[arg-type]
    try:
        while part.pid in (first, None):
            part.look()
        assert part.codes == [-9]
        assert not part.tell(9, first)  # type: ignore[arg-type]
        assert part.running
    finally:
        assert part.end(5)
    assert not part.running


@pytest.fixture
def relayed(redis_server: Path) -> Iterator[tuple[Relay, redis.Redis]]:
    relay = Relay(redis_server.with_name("relay.sock"), redis_server)
    relay.start()
    with redis.Redis(
        unix_socket_path=str(relay.path), socket_timeout=0.3, retry=Retry(NoBackoff(), 0)
    ) as client:
        yield relay, client
    relay.close()
    relay.path.unlink()


def test_a_relay_passes_hangs_and_heals(relayed: tuple[Relay, redis.Redis]) -> None:
    relay, client = relayed
    assert client.ping()
    relay.half_open()
    with pytest.raises(redis.TimeoutError):
        client.ping()
    with socket.socket(socket.AF_UNIX) as hanging:
        hanging.connect(str(relay.path))
        relay.heal()
        assert client.ping()


def test_a_relay_cuts(relayed: tuple[Relay, redis.Redis]) -> None:
    relay, client = relayed
    with client.client() as one:  # type: ignore[no-untyped-call]
        assert one.ping()
        relay.cut()
        with pytest.raises(redis.ConnectionError):
            while True:
                one.execute_command("PING")

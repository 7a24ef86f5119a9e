"""What the doctor makes of a Redis, by what the server says of itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest

from producer.doctor.check import Check
from producer.doctor.server import Clocks, no_server, server_checks, unreachable
from skillopt.errors import StateError, StateUnavailable
from skillopt.state.ports import ServerFacts

GOOD = ServerFacts(
    version="7.4.1",
    writable=True,
    append_only=True,
    fsync="everysec",
    eviction="noeviction",
    max_memory=1_000_000_000,
    used_memory=1_000_000,
    databases=16,
)
LOCAL = "redis://127.0.0.1:6379/0"


@dataclass
class FakeServer:
    facts_: ServerFacts = GOOD
    ahead_s: float = 0.0
    wall: float = 1_800_000_000.0

    def facts(self) -> ServerFacts:
        return self.facts_

    def now(self) -> float:
        return self.wall + self.ahead_s

    def queued(self, lists: Sequence[str]) -> dict[str, int]:
        return dict.fromkeys(lists, 0)


def looked_at(
    url: str = LOCAL, *, ahead_s: float = 0.0, trip_s: float = 0.001, **facts
) -> dict[str, Check]:
    server = FakeServer(replace(GOOD, **facts), ahead_s)
    ticks = iter(number * trip_s for number in range(100))
    clocks = Clocks(monotonic=lambda: next(ticks), wall=lambda: server.wall)
    return {
        check.name: check for check in server_checks(url, server, embedded=False, clocks=clocks)
    }


def test_a_good_server_passes_everything():
    found = looked_at()
    assert {check.status for check in found.values()} == {"ok"}
    assert set(found) == {
        "redis",
        "redis version",
        "redis writable",
        "redis persistence",
        "redis eviction",
        "redis memory",
        "redis databases",
        "redis clock",
        "redis latency",
        "redis access",
    }


@pytest.mark.parametrize(
    ("facts", "name", "status", "said"),
    [
        ({"version": "6.0.16"}, "redis version", "failed", "6.0.16"),
        ({"version": ""}, "redis version", "failed", "unknown"),
        ({"writable": False}, "redis writable", "failed", "replica"),
        ({"append_only": False}, "redis persistence", "warning", "append-only file off"),
        ({"fsync": "no"}, "redis persistence", "warning", "fsync left to the system"),
        ({"fsync": "always"}, "redis persistence", "ok", "fsync always"),
        ({"append_only": None}, "redis persistence", "skipped", "does not show"),
        ({"eviction": "allkeys-lru"}, "redis eviction", "failed", "allkeys-lru"),
        ({"eviction": "volatile-ttl", "max_memory": 0}, "redis eviction", "warning", "volatile"),
        ({"eviction": "allkeys-lru", "max_memory": None}, "redis eviction", "failed", "allkeys"),
        ({"eviction": None}, "redis eviction", "skipped", "does not show"),
        ({"used_memory": 800_000_000}, "redis memory", "warning", "800.0 MB used of 1,000.0 MB"),
        ({"used_memory": 990_000_000}, "redis memory", "failed", "990.0 MB"),
        ({"max_memory": 0}, "redis memory", "ok", "no limit"),
        ({"databases": 2}, "redis databases", "failed", "2, and 3 are needed"),
        ({"databases": None}, "redis databases", "skipped", "does not show"),
        ({"ahead_s": 90.0}, "redis clock", "warning", "90.0 s apart"),
        ({"ahead_s": -90.0}, "redis clock", "warning", "90.0 s apart"),
        ({"trip_s": 0.2}, "redis latency", "warning", "200.0 ms"),
    ],
)
def test_a_bad_setting_is_found_and_nothing_else(facts, name, status, said):
    found = looked_at(**facts)
    assert found[name].status == status
    assert said in found[name].value
    if status in {"warning", "failed"}:
        assert found[name].fix
    assert {check.status for other, check in found.items() if other != name} <= {"ok"}


@pytest.mark.parametrize(
    ("url", "status", "said"),
    [
        ("unix:///run/r.sock", "ok", "on this machine"),
        ("redis://db.example.org/0", "warning", "no password, not encrypted"),
        ("rediss://db.example.org/0", "warning", "no password"),
        ("redis://:pw@db.example.org/0", "warning", "not encrypted"),
        ("rediss://:pw@db.example.org/0?ssl_cert_reqs=none", "warning", "not checked"),
        ("rediss://:pw@db.example.org/0", "ok", "encrypted"),
    ],
)
def test_the_way_to_the_server_is_looked_at(url, status, said):
    found = looked_at(url)["redis access"]
    assert (found.status, said in found.value) == (status, True)


def test_a_password_in_the_url_is_not_shown():
    url = "redis://me:sk-planted-pw@db.example.org/0"
    for check in (*looked_at(url).values(), unreachable(url, StateUnavailable("no"))):
        assert "sk-planted-pw" not in str(check)


@pytest.mark.parametrize(
    ("problem", "fix"),
    [
        (StateUnavailable("Error 111 connecting to h:1. Connection refused."), "start it"),
        (StateError("Authentication required."), "give user and password"),
        (StateUnavailable("invalid username-password pair"), "give user and password"),
    ],
)
def test_a_server_that_does_not_let_us_in_fails_with_a_fix(problem, fix):
    check = unreachable(LOCAL, problem)
    assert (check.status, check.detail) == ("failed", str(problem))
    assert check.fix.startswith(fix)


def test_a_private_redis_that_does_not_run_is_no_failure():
    check = no_server(".skillopt")
    assert check.status == "skipped"
    assert ".skillopt" in check.detail

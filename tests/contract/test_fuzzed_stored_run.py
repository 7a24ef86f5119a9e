"""A run in Redis of which one value is damaged: it goes on as it should, or is refused in words.

What is refused changes nothing: neither the log nor the ledger, and nothing is paid for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from damaged_values import DAMAGES
from state_adapters import redis_adapter

sys.path.append(str(Path(__file__).parents[1] / "chaos"))

from interrupted_runs import TIMING, Clock, Interruption, Outcome, Site, undisturbed

from skillopt.errors import SkillOptError
from skillopt.state import keys
from skillopt.state.ports import WorkerInfo

#: Killed here, a run has results, jobs in all states, and a step half done.
HALF_WAY = 150
#: Damages that stand for the others where every value is tried.
TYPICAL = ("truncated", "newer", "wrong types", "not UTF-8", "deep")


@dataclass
class Stored:
    """A run half done, and what its database holds."""

    site: Site
    client: redis.Redis

    def copy(self) -> dict[bytes, tuple[bytes, int]]:
        found = {}
        for key in self.client.scan_iter():
            ttl = self.client.pttl(key)
            found[key] = (self.client.dump(key), max(0, ttl))
        return found

    def put_back(self, copy: dict[bytes, tuple[bytes, int]]) -> None:
        self.client.flushdb()
        for key, (content, ttl) in copy.items():
            self.client.restore(key, ttl, content)

    def truth(self) -> tuple[object, ...]:
        """Give all of the run that must not change by accident."""
        run = self.site.run
        names = (keys.run(run), keys.log(run), keys.ledger(run))
        return tuple(self.client.dump(name) for name in names)


@pytest.fixture
def whole(tmp_path, monkeypatch) -> Outcome:
    monkeypatch.setattr("os.fsync", lambda handle: None)
    return undisturbed(tmp_path / "whole")[0]


@pytest.fixture
def stored(redis_url, tmp_path) -> Iterator[Stored]:
    with redis_adapter(redis_url, TIMING) as adapter:

        def advance(seconds: float) -> None:
            try:
                adapter.advance(seconds)
            except redis.ResponseError:
                site.stop.set()  # time cannot pass over a key of another type

        site = Site(tmp_path / "runs", state=adapter.state, clock=Clock(advance))
        site.command(Interruption(HALF_WAY, "lost"))
        site.clock.now += site.timing.lead_s
        adapter.state.fleet.announce(WorkerInfo("w1", "sim", "f1", 4))
        adapter.state.runs.show_view(site.run, "{}")
        assert adapter.client is not None
        yield Stored(site, adapter.client)


def one_of_each(client: redis.Redis) -> list[bytes]:
    """Give the first two keys of every kind."""
    found: dict[str, list[bytes]] = {}
    for key in sorted(client.scan_iter()):
        kind = next(row.pattern for row in keys.TABLE if row.matches(key.decode()))
        found.setdefault(kind, []).append(key)
    return [key for several in found.values() for key in several[:2]]


Change = tuple[str, Callable[[], None]]


def changes_of(client: redis.Redis, key: bytes, damages: tuple[str, ...]) -> Iterator[Change]:
    """Give every way to damage a key, by name."""
    kind = client.type(key)
    yield "another type", lambda: _replace_by_another_type(client, key, kind)
    for damage in damages:
        spoil = DAMAGES[damage]
        if kind == b"string":
            value = client.get(key)
            yield damage, lambda v=value, s=spoil: client.set(key, s(v), keepttl=True)
        elif kind == b"hash":
            for field, value in list(client.hgetall(key).items())[:12]:
                name = f"{field!r} {damage}"
                yield name, lambda f=field, v=value, s=spoil: client.hset(key, f, s(v))
        elif kind == b"stream" and b":log" in key:
            entries = client.xrange(key)
            for at in (0, len(entries) // 2, len(entries) - 1):
                name = f"entry {at + 1} {damage}"
                yield name, lambda a=at, e=entries, s=spoil: _rewrite(client, key, e, a, s)
        elif kind in (b"set", b"zset"):
            add = client.sadd if kind == b"set" else lambda k, m: client.zadd(k, {m: 1})
            yield f"a member {damage}", lambda a=add, s=spoil: a(key, s(b"greeter")[:9_000])


def _replace_by_another_type(client: redis.Redis, key: bytes, kind: bytes) -> None:
    client.delete(key)
    if kind == b"string":
        client.hset(key, "a", "b")
        client.pexpire(key, 100_000)
    else:
        client.set(key, "nonsense", px=100_000)


def _rewrite(client, key, entries, at, spoil) -> None:
    client.delete(key)
    for number, (name, fields) in enumerate(entries):
        spoilt = {b"event": spoil(fields[b"event"])} if number == at else {}
        client.xadd(key, {**fields, **spoilt}, id=name)


def assert_goes_on_or_is_refused(stored: Stored, whole: Outcome, where: str) -> str:
    before, executed = stored.truth(), len(stored.site.fleet.executed)
    site = stored.site
    try:
        site.command()
        if site.is_finished():
            assert site.outcome().decisions == whole.decisions, where
            return "goes on"
    except SkillOptError as error:
        assert len(str(error)) < 2_000, where
        assert "\n" not in str(error), f"{where}: {error}"
    else:
        assert site.state.runs.open_runs() != [site.run] or not site.stop.is_set(), where
    if len(site.fleet.executed) == executed:
        assert stored.truth()[1] == before[1] or "log" in where or "another type" in where, where
    return "refused"


def run_all(stored: Stored, whole: Outcome, damages: tuple[str, ...]) -> dict[str, set[str]]:
    copy = stored.copy()
    came: dict[str, set[str]] = {}
    for key in one_of_each(stored.client):
        for name, change in list(changes_of(stored.client, key, damages)):
            stored.put_back(copy)
            stored.site.stop.clear()
            change()
            where = f"{key.decode()[:60]}: {name}"
            answer = assert_goes_on_or_is_refused(stored, whole, where)
            came.setdefault(key.decode(), set()).add(answer)
    stored.put_back(copy)
    return came


@pytest.mark.timeout(300)
def test_a_run_with_any_damaged_value_goes_on_or_is_refused(stored, whole):
    came = run_all(stored, whole, TYPICAL)
    run = stored.site.run
    assert came[keys.log(run)] == {"refused"}
    assert came[keys.view(run)] == {"goes on"}, "a view is for people only"
    assert came[keys.worker("sim", "w1")] == {"goes on"}, "a worker that is not understood"
    assert all("goes on" in words for key, words in came.items() if key.startswith("so:blob:"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_with_any_value_damaged_in_any_way_goes_on_or_is_refused(stored, whole):
    run_all(stored, whole, tuple(DAMAGES))

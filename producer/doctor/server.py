"""The Redis that a run would use: can it be reached, and does it keep what it is given?"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from producer.doctor.check import Check, failed, ok, skipped, warning
from skillopt.errors import SkillOptError
from skillopt.state.ports import REQUIRED_VERSION, Server, ServerFacts
from skillopt.state.urls import access_of, databases_needed, redacted

#: Clocks that differ by more confuse people who compare times; no decision depends on them.
_CLOCK_S = 5.0
#: Each job takes a handful of round trips.
_SLOW_S = 0.025
_ROUND_TRIPS = 5
_FULL, _NEARLY_FULL = 0.95, 0.7
_MB = 1_000_000
_SETTINGS_HIDDEN = "the server does not show this setting"


@dataclass(frozen=True)
class Clocks:
    """This machine's two clocks: one for durations, one for the time of day."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = lambda: datetime.now(UTC).timestamp()


def no_server(store: str) -> Check:
    """Say that the private Redis does not run, which is as it should be between runs."""
    return skipped(
        "redis",
        "none runs now",
        f"`skillopt run` starts a private one in {store} with its own settings; name a shared one "
        "with --redis URL to have it looked at",
    )


def unreachable(url: str, problem: SkillOptError) -> Check:
    text = str(problem)
    fix = "start it, or correct --redis (SKILLOPT_REDIS_URL)"
    if any(sign in text.lower() for sign in ("authentication", "password", "noauth")):
        fix = "give user and password in the URL, rediss://USER:PASSWORD@HOST:PORT/0"
    return failed("redis", redacted(url), fix, text)


def server_checks(
    url: str, server: Server, *, embedded: bool, clocks: Clocks = Clocks()
) -> Iterator[Check]:
    """Look at a server that answers; raises StateError if it stops doing so meanwhile."""
    facts = server.facts()
    shown = "the store's own" if embedded else redacted(url)
    yield ok("redis", f"{shown}, answers")
    yield _version(facts)
    yield _writable(facts)
    yield _persistence(facts)
    yield _eviction(facts)
    yield _memory(facts)
    yield _databases(facts, databases_needed(url))
    yield from _clock_and_latency(server, clocks)
    yield _access(url)


def _version(facts: ServerFacts) -> Check:
    name, least = "redis version", ".".join(map(str, REQUIRED_VERSION))
    if facts.numbers < REQUIRED_VERSION:
        return failed(
            name, facts.version or "unknown", f"use a server that speaks Redis {least} or later"
        )
    return ok(name, facts.version)


def _writable(facts: ServerFacts) -> Check:
    if facts.writable:
        return ok("redis writable", "yes")
    return failed(
        "redis writable", "no: it is a replica", "give the address of the primary with --redis"
    )


def _persistence(facts: ServerFacts) -> Check:
    name, fix = "redis persistence", "set `appendonly yes` and `appendfsync everysec` (or always)"
    lost = "what a restart loses of runs and results is made, and paid, again"
    if facts.append_only is None:
        return skipped(name, _SETTINGS_HIDDEN)
    if not facts.append_only:
        return warning(name, "append-only file off", fix, lost)
    if facts.fsync == "no":
        return warning(name, "append-only file on, fsync left to the system", fix, lost)
    how = f", fsync {facts.fsync}" if facts.fsync else ""
    detail = "up to a second of writes is lost if its machine dies"
    return ok(name, f"append-only file on{how}", detail if facts.fsync == "everysec" else "")


def _eviction(facts: ServerFacts) -> Check:
    name, fix = "redis eviction", "set `maxmemory-policy noeviction`"
    if facts.eviction is None:
        return skipped(name, _SETTINGS_HIDDEN)
    if facts.eviction == "noeviction":
        return ok(name, facts.eviction)
    if facts.max_memory == 0:
        return warning(
            name, facts.eviction, fix, "harmless only while maxmemory is 0, as it is now"
        )
    return failed(name, facts.eviction, fix, "a full server would drop parts of runs unnoticed")


def _memory(facts: ServerFacts) -> Check:
    name = "redis memory"
    if facts.used_memory is None:
        return skipped(name, _SETTINGS_HIDDEN)
    used = f"{facts.used_memory / _MB:,.1f} MB used"
    if not facts.max_memory:
        return ok(name, f"{used}, no limit set")
    share = facts.used_memory / facts.max_memory
    value = f"{used} of {facts.max_memory / _MB:,.1f} MB"
    if share >= _NEARLY_FULL:
        found = failed if share >= _FULL else warning
        return found(name, value, "raise maxmemory", "runs pause when it is full")
    return ok(name, value)


def _databases(facts: ServerFacts, needed: int) -> Check:
    name = "redis databases"
    if facts.databases is None:
        return skipped(name, _SETTINGS_HIDDEN)
    if facts.databases < needed:
        return failed(
            name,
            f"{facts.databases}, and {needed} are needed",
            f"set `databases {needed}`, or give a lower number in the URL",
            "the URL's database is the queue's, the state lives two further",
        )
    return ok(name, f"{facts.databases}")


def _clock_and_latency(server: Server, clocks: Clocks) -> Iterator[Check]:
    trips = []
    for _ in range(_ROUND_TRIPS):
        began, at = clocks.monotonic(), clocks.wall()
        now = server.now()
        took = clocks.monotonic() - began
        trips.append((took, now - (at + took / 2)))
    took, difference = min(trips)
    name, value = "redis clock", f"{abs(difference):.1f} s apart from this machine's"
    if abs(difference) > _CLOCK_S:
        yield warning(
            name,
            value,
            "let both machines take their time from a time server",
            "only the server's clock decides; times shown here and there differ",
        )
    else:
        yield ok(name, value)
    name, value = "redis latency", f"{took * 1000:.1f} ms a round trip"
    if took > _SLOW_S:
        yield warning(
            name, value, "run closer to the server", "each job takes a handful of round trips"
        )
    else:
        yield ok(name, value)


def _access(url: str) -> Check:
    name, access = "redis access", access_of(url)
    if access.local:
        return ok(name, "on this machine")
    if not access.password:
        return warning(
            name,
            f"remote, no password{'' if access.encrypted else ', not encrypted'}",
            "protect it with a password and TLS: rediss://USER:PASSWORD@HOST:PORT/0",
            "whoever reaches it can read and change every run",
        )
    if not access.encrypted:
        return warning(
            name,
            "remote, not encrypted",
            "use TLS: rediss://",
            "the password and all data can be read on the way",
        )
    if not access.verified:
        return warning(
            name,
            "encrypted, certificate not checked",
            "remove ssl_cert_reqs from the URL",
            "another server could pass for this one",
        )
    return ok(name, "encrypted, with a password")

"""What a Redis has ever been told to write: the fleet's deeds, in the server's own record."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.state import keys

_LEASE, _RESULT = keys.lease(""), keys.result("")
_JOB, _WAIT = keys.job(""), keys.waiters("")


@dataclass
class Written:
    """Counts by job or run."""

    #: Times that a worker took a job up.
    claims: Counter[str] = field(default_factory=Counter)
    #: Times that a result was written where none was.
    commits: Counter[str] = field(default_factory=Counter)
    #: Times that a worker stopped because nobody wanted the job any more.
    abandoned: Counter[str] = field(default_factory=Counter)
    #: Times that a job was taken up while another worker still had it.
    overlaps: Counter[str] = field(default_factory=Counter)
    #: Runs that wait, by job.
    waiting: dict[str, set[str]] = field(default_factory=dict)
    #: Finish events, by run.
    finishes: Counter[str] = field(default_factory=Counter)

    @property
    def needless(self) -> int:
        """Executions minus commits. Those that nobody wanted any more do not count: early
        decisions end them, not faults; the result of one may come all the same.
        """
        return sum(
            max(0, count - self.abandoned[job] - self.commits[job])
            for job, count in self.claims.items()
        )


def read_written(aof: Path) -> Written:
    """Read an append-only file that was never rewritten."""
    written, leased = Written(), set[str]()
    for transaction in _transactions(_commands(aof.read_bytes())):
        for command in transaction:
            _note(written, command)
            _note_lease(written, leased, command)
            _note_waiting(written, command)
        _note_giving_up(written, transaction)
    return written


def _note(written: Written, command: list[str]) -> None:
    match command:
        case ["SET", key, *_] if key.startswith(_LEASE):
            written.claims[key.removeprefix(_LEASE)] += 1
        case ["HSETNX", key, *_] if key.startswith(_RESULT):
            written.commits[key.removeprefix(_RESULT)] += 1
        case ["XADD", key, *_, event] if key.endswith(":log"):
            if json.loads(event)["type"] == "finished":
                written.finishes[key.split(":")[2]] += 1


def _note_lease(written: Written, leased: set[str], command: list[str]) -> None:
    """Follow who has a lease; one that lapses is deleted before anybody takes it anew."""
    match command:
        case ["SET", key, *_] if key.startswith(_LEASE):
            if key in leased:
                written.overlaps[key.removeprefix(_LEASE)] += 1
            leased.add(key)
        case ["DEL" | "UNLINK", *names]:
            leased.difference_update(names)


def _note_waiting(written: Written, command: list[str]) -> None:
    match command:
        case ["SADD", key, *runs] if key.startswith(_WAIT):
            written.waiting.setdefault(key.removeprefix(_WAIT), set()).update(runs)
        case ["SREM", key, *runs] if key.startswith(_WAIT):
            written.waiting.get(key.removeprefix(_WAIT), set()).difference_update(runs)
        case ["DEL" | "UNLINK", *names]:
            for name in names:
                written.waiting.pop(name.removeprefix(_WAIT), None)


def _note_giving_up(written: Written, transaction: list[list[str]]) -> None:
    """A claim was taken back: for good, unless the job is told when to go on."""
    taken_back = [
        command[1].removeprefix(_JOB)
        for command in transaction
        if command[0] == "HDEL" and command[1].startswith(_JOB) and "claim_lane" in command
    ]
    goes_on = any(command[0] == "HSET" and "until" in command for command in transaction)
    if not goes_on:
        written.abandoned.update(taken_back)


def _transactions(commands: Iterator[list[str]]) -> Iterator[list[list[str]]]:
    within: list[list[str]] | None = None
    for command in commands:
        if command[0] == "MULTI":
            within = []
        elif command[0] == "EXEC":
            yield within or []
            within = None
        elif within is None:
            yield [command]
        else:
            within.append(command)


def _commands(raw: bytes) -> Iterator[list[str]]:
    """Read commands as clients send them; a torn last one is none."""
    at = 0

    def number() -> int:
        nonlocal at
        end = raw.index(b"\r\n", at)
        value, at = int(raw[at + 1 : end]), end + 2
        return value

    while at < len(raw):
        try:
            words = []
            for _ in range(number()):
                size = number()
                words.append(raw[at : at + size].decode(errors="replace"))
                at += size + 2
        except ValueError:
            return
        yield [words[0].upper(), *words[1:]]

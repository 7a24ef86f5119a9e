"""Runs: their logs, ledgers and leaders, in Redis."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import redis

from skillopt.errors import QuotaExceeded, StaleVersion
from skillopt.state import keys
from skillopt.state.ports import Lead, LogEntry, RunInfo
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, json_object, text
from skillopt.state.redis.scripts import Limits, Scripts, fenced

#: Log entries read in one command.
_LOG_PAGE: Final = 1000
#: What scripts need in order to hold an owner to the quota of open runs.
_QUOTA_PREFIXES: Final = (keys.RUN_PREFIX, keys.QUOTA_PREFIX)


class RedisRuns:
    """Scripts create, lead, resign and step."""

    def __init__(self, client: redis.Redis, scripts: Scripts, limits: Limits) -> None:
        self._client = client
        self._scripts = scripts
        self._limits = limits

    def create(
        self, run: str, *, meta: Mapping[str, str], events: Sequence[str], status: str
    ) -> bool:
        names = (keys.run(run), keys.log(run), keys.RUNS, keys.OPEN_RUNS)
        written = json.dumps(dict(meta), ensure_ascii=False)
        arguments = (run, written, status, *_QUOTA_PREFIXES, *events)
        reply = self._scripts.call("create", names, arguments)
        _refuse_over_quota(reply)
        return bool(reply[0] == b"created")

    def info(self, run: str) -> RunInfo | None:
        with translated():
            fields = self._client.hgetall(keys.run(run))
        return _info(run, fields) if fields else None

    def all(self) -> list[RunInfo]:
        with translated():
            members = self._client.zrevrange(keys.RUNS, 0, -1)
            runs = [text(member, "a run's id") for member in members]
            pipeline = self._client.pipeline(transaction=False)
            for run in runs:
                pipeline.hgetall(keys.run(run))
            found = pipeline.execute()
        return [_info(run, fields) for run, fields in zip(runs, found, strict=True) if fields]

    def open_runs(self) -> list[str]:
        with translated():
            members = self._client.zrange(keys.OPEN_RUNS, 0, -1)
        return [text(member, "a run's id") for member in members]

    def lead(self, run: str, owner: str) -> Lead | None:
        fence = self._scripts.call("lead", (keys.run_lease(run),), (owner, self._limits.lead))
        return Lead(run=run, owner=owner, fence=fence) if fence else None

    def leaders(self, runs: Sequence[str]) -> dict[str, str]:
        with translated():
            pipeline = self._client.pipeline(transaction=False)
            pipeline.time()
            for run in runs:
                pipeline.hmget(keys.run_lease(run), "owner", "until")
            (seconds, microseconds), *held = pipeline.execute()
        now_ms = seconds * 1000 + microseconds / 1000
        found = {}
        for run, (owner, until) in zip(runs, held, strict=True):
            what = f"the lead of run {run!r}"
            if owner is not None and until is not None and integer(until, what) > now_ms:
                found[run] = text(owner, what)
        return found

    def resign(self, lead: Lead) -> None:
        self._scripts.call("resign", (keys.run_lease(lead.run),), (lead.owner, lead.fence))

    def step(
        self, lead: Lead, *, version: int, events: Sequence[str], status: str, open: bool
    ) -> int:
        run = lead.run
        reply = self._scripts.call(
            "step",
            (keys.run_lease(run), keys.run(run), keys.log(run), keys.OPEN_RUNS),
            (
                run, lead.owner, lead.fence, version, status, int(open), *self._limits.bell,
                *_QUOTA_PREFIXES, *events,
            ),
        )  # fmt: skip
        if reply[0] == b"fenced":
            raise fenced(lead)
        _refuse_over_quota(reply)
        if reply[0] == b"stale":
            raise StaleVersion(
                f"run {run!r} is at version {reply[1]}, not {version}; read its log again"
            )
        return integer(reply[1], f"the version of run {run!r}")

    def log(self, run: str, *, after: int = 0) -> list[LogEntry]:
        entries: list[LogEntry] = []
        while True:
            with translated():
                page = self._client.xrange(keys.log(run), f"{after + 1}-0", "+", _LOG_PAGE) or []
            entries.extend(_entry(run, number, fields or {}) for number, fields in page)
            if len(page) < _LOG_PAGE:
                return entries
            after = entries[-1].seq

    def ledger(self, run: str) -> dict[str, str]:
        with translated():
            fields = self._client.hgetall(keys.ledger(run))
        what = f"the ledger of run {run!r}"
        return {text(job, what): text(line, what) for job, line in fields.items()}

    def show_view(self, run: str, view: str) -> None:
        with translated():
            self._client.set(keys.view(run), view, px=self._limits.view_ttl)

    def view(self, run: str) -> str | None:
        with translated():
            stored = self._client.get(keys.view(run))
        return None if stored is None else text(stored, f"the view of run {run!r}")


def _refuse_over_quota(reply: list[Any]) -> None:
    if reply[0] == b"quota":
        _, owner, count, limit = reply
        raise QuotaExceeded(text(owner, "the owner of a run"), count, limit)


def _info(run: str, fields: Mapping[bytes | str, bytes | str]) -> RunInfo:
    what = f"run {run!r}"
    meta = json_object(fields.get(b"meta"), f"meta of {what}")
    return RunInfo(
        run=run,
        meta={name: text(value, f"meta {name!r} of {what}") for name, value in meta.items()},
        status=text(fields.get(b"status"), f"status of {what}"),
        version=integer(fields.get(b"version"), f"version of {what}"),
        created_at=integer(fields.get(b"created"), f"time of creation of {what}") / 1_000_000,
    )


def _entry(run: str, identifier: object, fields: Mapping[bytes | str, bytes | str]) -> LogEntry:
    what = f"entry {identifier!r} of the log of run {run!r}"
    number, _, _ = text(identifier, what).partition("-")
    return LogEntry(
        seq=integer(number, f"number of {what}"),
        at=integer(fields.get(b"at"), f"time of {what}") / 1000,
        event=text(fields.get(b"event"), f"event of {what}"),
    )

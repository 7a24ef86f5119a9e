"""A queue that remembers what it was asked, and answers what a test gave it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from producer.queue.models import (
    BackendRow,
    ControlReply,
    CurveRow,
    DiffPage,
    EventRow,
    FleetPage,
    GatePage,
    Money,
    Quota,
    Retuning,
    RunRow,
    RunStatus,
    SpendRow,
    Tags,
)
from producer.queue.port import SpendBy

RUN = "briefs-0123456789ab"


def row(**changes: Any) -> RunRow:
    values = {
        "run": RUN,
        "name": "briefs",
        "mode": "train",
        "owner": "alice",
        "team": "blue",
        "priority": "normal",
        "labels": {"ticket": "H-17"},
        "phase": "running",
        "words": "step 2: trying the train tasks (3 of 8)",
        "position": 1,
        "created_at": 1_800_000_000.0,
        "ended_at": None,
        "active_s": 75.0,
        "eta_s": 120.0,
        "step": 2,
        "steps_planned": 6,
        "spent": Money(
            calls=24,
            calls_by_role={"target": 20, "optimizer": 4},
            tokens=1_000,
            usd=0.25,
            usd_by_role={"target": 0.2, "optimizer": 0.05},
        ),
        "projected_usd": 0.75,
        "projected_calls": 72,
        "initial_score": 0.5,
        "current_score": 0.75,
        "best_score": 0.75,
        "dead_jobs": 0,
    }
    return RunRow.model_validate({**values, **changes})


def status(changes: Mapping[str, Any] | None = None, **of_row: Any) -> RunStatus:
    values = {
        "row": row(**of_row),
        "stage": "step 2 / rollout",
        "stage_done": 3,
        "stage_total": 8,
        "in_flight": 4,
        "shares": [{"backend": "gpt", "in_flight": 4, "window": 8, "wanted": 20}],
        "cache_hits": 6,
        "cache_hit_rate": 0.25,
        "budget": {"max_usd": 5.0, "max_calls": 2000, "max_tokens": None, "max_minutes": None},
        "window": None,
        "stages": [],
        "warnings": [],
        "left_out": {},
        "given_up": 0,
        "run_dir": None,
    }
    return RunStatus.model_validate({**values, **(changes or {})})


def event(seq: int, type_: str, words: str, **more: Any) -> EventRow:
    at = 1_800_000_000.0 + seq
    return EventRow(seq=seq, at=at, type=type_, words=words, event={"type": type_, **more})


CURVE = [
    CurveRow(label="0", train=None, val=0.5, candidate=None, best=0.5, verdict=None),
    CurveRow(label="1", train=0.4, val=0.75, candidate=0.75, best=0.75, verdict="accepted"),
    CurveRow(label="2", train=0.4, val=0.75, candidate=0.25, best=0.75, verdict="rejected"),
    CurveRow(label="e1", train=None, val=0.75, candidate=None, best=0.75, verdict="skipped"),
    CurveRow(label="3", train=0.4, val=0.75, candidate=None, best=0.75, verdict=None),
]


class QueueDouble:
    """Implements `Queue`; `asked` lists the calls in order, without those that only read."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.status_now = status()
        self.told: list[EventRow | RunStatus | BaseException] = []
        self.reply = ControlReply(run=RUN, outcome="done", words=f"run {RUN!r} is so now")
        self.known_quotas = [Quota(owner="alice", max_runs=2, max_window=16, runs=1)]
        self.spent = [
            SpendRow(
                key="alice",
                calls=1_200,
                input_tokens=9_000,
                output_tokens=800,
                usd=1.5,
                unpriced_calls=3,
            )
        ]
        self.closed = False

    def submit(self, spec: Path, tags: Tags, *, overrides: Sequence[str] = ()) -> RunRow:
        given = tags.model_dump(include=tags.model_fields_set)
        self.asked.append(("submit", spec, given, tuple(overrides)))
        return row(phase="queued", words="waiting for a coordinator")

    def runs(
        self,
        *,
        owner: str | None = None,
        phase: str | None = None,
        labels: Mapping[str, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        self.asked.append(("runs", owner, phase, dict(labels or {}), limit))
        return [] if phase == "cancelled" else [row()]

    def status(self, run: str) -> RunStatus:
        self.asked.append(("status", run))
        return self.status_now

    def pause(self, run: str) -> ControlReply:
        return self._steer("pause", run)

    def resume(self, run: str) -> ControlReply:
        return self._steer("resume", run)

    def cancel(self, run: str) -> ControlReply:
        return self._steer("cancel", run)

    def retune(self, run: str, retuning: Retuning) -> ControlReply:
        self.asked.append(("retune", run, retuning.given()))
        return self.reply

    def curve(self, run: str) -> list[CurveRow]:
        self.asked.append(("curve", run))
        return CURVE

    def gates(self, run: str) -> list[GatePage]:
        raise AssertionError("no command asks for gates")

    def diff(self, run: str, label: str = "best") -> DiffPage:
        raise AssertionError("no command asks for differences")

    def blame(self, run: str) -> list[dict[str, Any]]:
        raise AssertionError("no command asks for blame")

    def records(
        self,
        run: str,
        *,
        step: int | None = None,
        task: str | None = None,
        call: str | None = None,
        limit: int = 50,
    ) -> list[dict[str, Any]]:
        raise AssertionError("no command asks for records")

    def events(self, run: str, *, after: int = 0, limit: int = 1000) -> list[EventRow]:
        raise AssertionError("events come by following")

    def follow(self, run: str, *, after: int = 0) -> Iterator[EventRow | RunStatus]:
        self.asked.append(("follow", run))
        for one in self.told:
            if isinstance(one, BaseException):
                raise one
            yield one

    def fleet(self) -> FleetPage:
        backend = BackendRow(
            name="gpt",
            workers=1,
            capacity=16,
            in_flight=0,
            queued=0,
            queue_age_s=None,
            limits={"rpm": 300.0, "tpm": None, "concurrency": 8.0},
            set_limits={"rpm": 300.0},
            allowed=None,
            breaker="closed",
            waiting="",
        )
        return FleetPage(
            backends=(backend,),
            workers=(),
            coordinators=1,
            dead_jobs=0,
            redis_memory_bytes=None,
            queued_runs=0,
            running_runs=0,
        )

    def set_limits(self, backend: str, limits: Mapping[str, float | None]) -> None:
        self.asked.append(("set_limits", backend, dict(limits)))

    def quotas(self) -> list[Quota]:
        return self.known_quotas

    def set_quota(self, quota: Quota) -> None:
        self.asked.append(("set_quota", quota))
        self.known_quotas = [quota]

    def spend(self, by: SpendBy, *, since_s: float | None = None) -> list[SpendRow]:
        self.asked.append(("spend", by, since_s))
        return self.spent

    def export(self, run: str, destination: Path, *, records: bool = True) -> dict[str, Any]:
        self.asked.append(("export", run, destination, records))
        file = {"path": "best_skill.md", "bytes": 12, "sha256": "0" * 64}
        return {"run": RUN, "folder": str(destination), "files": [file]}

    def close(self) -> None:
        self.closed = True

    def _steer(self, verb: str, run: str) -> ControlReply:
        self.asked.append((verb, run))
        return self.reply

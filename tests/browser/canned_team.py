"""The dashboard's own files with canned answers behind them: no server, every answer chosen."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

from pydantic import BaseModel

from producer.api.headers import DASHBOARD_POLICY
from producer.api.pages import STATIC
from producer.queue.models import (
    BackendRow,
    BackendShare,
    ControlReply,
    CurveRow,
    DiffPage,
    EventRow,
    FleetPage,
    GatePage,
    Money,
    RunRow,
    RunStatus,
    StageShare,
    TaskChange,
    WorkerRow,
)

URL = "http://dashboard.test"
RUN = "notice-0123456789ab"


def row(**changes: Any) -> RunRow:
    known: dict[str, Any] = {
        "run": RUN, "name": "notice", "mode": "train", "owner": "ada", "team": "docs",
        "priority": "normal", "labels": {"ticket": "DOC-142"}, "phase": "running",
        "words": "step 2: measuring the candidate on val (3 of 8)", "position": 1,
        "created_at": 1_790_000_000.0, "ended_at": None, "active_s": 61.0, "eta_s": 120.0,
        "step": 2, "steps_planned": 4,
        "spent": Money(calls=20, calls_by_role={"target": 18, "optimizer": 2}, tokens=9000,
                       usd=0.25, usd_by_role={"target": 0.2, "optimizer": 0.05}),
        "projected_usd": 0.5, "projected_calls": 40, "initial_score": 0.25,
        "current_score": 0.5, "best_score": 0.5, "dead_jobs": 0,
    }  # fmt: skip
    return RunRow(**{**known, **changes})


def status(**of_row: Any) -> RunStatus:
    return RunStatus(
        row=row(**of_row),
        stage="step 2 / gate",
        stage_done=3,
        stage_total=8,
        in_flight=5,
        shares=(BackendShare(backend="sim", in_flight=5, window=16, wanted=8),),
        cache_hits=2,
        cache_hit_rate=0.1,
        budget={"max_usd": 1.0, "max_calls": None, "max_tokens": None, "max_minutes": None},
        window=None,
        stages=(StageShare(label="baseline", began_at=1.0, ended_at=4.0),),
        warnings=(),
        left_out={},
        given_up=0,
        run_dir=None,
    )


def event(seq: int, words: str = "step 1: 4 tasks", kind: str = "step_started") -> EventRow:
    return EventRow(seq=seq, at=1_790_000_000.0 + seq, type=kind, words=words, event={"step": 1})


def gate(task: str = "val-1", feedback: str = "the heading is missing") -> GatePage:
    return GatePage(
        label="1", step=1, outcome="rejected", reason="hard fell", sentences=("It was worse.",),
        candidate_score=0.25, current_score=0.5, new_best=False, early=False, p_value=None,
        coverage=1.0,
        tasks=(TaskChange(task=task, current=1.0, candidate=0.0, change="worse",
                          feedback=feedback, candidate_records=("ab" * 32,)),),
    )  # fmt: skip


def curve() -> list[CurveRow]:
    start = CurveRow(label="0", train=None, val=0.25, candidate=None, best=0.25, verdict=None)
    one = CurveRow(label="1", train=0.5, val=0.25, candidate=0.2, best=0.25, verdict="rejected")
    return [start, one]


def rollout(task: str, text: str) -> dict[str, Any]:
    return {
        "kind": "rollout", "stage": "step 1 / gate", "step": 1, "epoch_end": None,
        "outcome": "scored", "problem": "", "messages": [{"role": "user", "content": text}],
        "reply": text, "finish_reason": "stop", "receipt": None, "backend": "sim", "params": {},
        "split": "val", "item": task, "sample": 0, "skill": "cd" * 32, "rollout": "ab" * 32,
        "judgement": None, "hard": 0.0, "soft": 0.0, "tools_called": [], "feedback": text,
        "criteria": [{"name": "contains", "passed": False, "requirement": text, "detail": text}],
        "judge_messages": None, "judge_receipt": None,
    }  # fmt: skip


def fleet(name: str = "sim") -> FleetPage:
    backend = BackendRow(
        name=name, workers=1, capacity=16, in_flight=4, queued=9, queue_age_s=12.0,
        limits={"rpm": 500.0}, set_limits={}, allowed=None, breaker="closed", waiting="",
    )  # fmt: skip
    worker = WorkerRow(worker=f"{name}-1", backend=name, capacity=16, lane="", version="0.1.0")
    return FleetPage(
        backends=(backend,), workers=(worker,), coordinators=1, dead_jobs=0,
        redis_memory_bytes=1_000_000, queued_runs=0, running_runs=1,
    )  # fmt: skip


class CannedTeam:
    """Answers for a page; `answers` by path under /api/v1 may be changed at any time."""

    def __init__(self, role: str = "runner", owner: str = "ada") -> None:
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: dict[str, Any] = {
            "me": {"name": "ada-laptop", "role": role, "owner": owner, "team": "docs"},
            "runs": [row()],
            "fleet": fleet(),
            "dead": {"jobs": []},
            f"runs/{RUN}": status(),
            f"runs/{RUN}/curve": curve(),
            f"runs/{RUN}/gates": [gate()],
            f"runs/{RUN}/events": [event(1)],
            f"runs/{RUN}/records": [rollout("val-1", "Dear customer")],
            f"runs/{RUN}/diff": DiffPage(
                label="best", before="initial", after="best", lines=("+new", "-old", " same")
            ),
            f"runs/{RUN}/blame": [],
            f"runs/{RUN}/pause": ControlReply(run=RUN, outcome="done", words="It is paused."),
            f"runs/{RUN}/stream": lambda _: [status()],
        }

    def serve(self, page: Any) -> None:
        page.route(f"{URL}/**", self._answer)

    def _answer(self, route: Any) -> None:
        request = route.request
        address = urlsplit(request.url)
        path = address.path.removeprefix("/api/v1/")
        if path == address.path:
            self._file(route, "index.html" if path == "/" else path.removeprefix("/static/"))
            return
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        self.asked.append((request.method, path, request.post_data_json or query))
        answer = self.answers[path]
        if request.method == "PATCH":
            answer = ControlReply(run=RUN, outcome="done", words="It is changed.")
        if path.endswith("/stream"):
            route.fulfill(body=_messages(answer(query)), content_type="text/event-stream")
        else:
            route.fulfill(body=_json(answer), content_type="application/json")

    def _file(self, route: Any, name: str) -> None:
        kind = mimetypes.guess_type(name)[0] or "text/plain"
        headers = {"Content-Security-Policy": DASHBOARD_POLICY, "Content-Type": kind}
        route.fulfill(body=(STATIC / name).read_bytes(), headers=headers)


Stream = Callable[[dict[str, str]], list[EventRow | RunStatus]]


def _json(answer: Any) -> str:
    return json.dumps(answer, default=_plain)


def _plain(value: Any) -> Any:
    assert isinstance(value, BaseModel)
    return value.model_dump(mode="json")


def _messages(rows: list[EventRow | RunStatus]) -> str:
    said = []
    for one in rows:
        kind = "status" if isinstance(one, RunStatus) else "event"
        number = f"id: {one.seq}\n" if isinstance(one, EventRow) else ""
        said.append(f"{number}event: {kind}\ndata: {one.model_dump_json()}\n\n")
    return f": hello\n\n{''.join(said)}"

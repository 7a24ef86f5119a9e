"""What the team queue tells and takes, in the same shape over Redis and over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from skillopt.domain.usage import Role

Priority = Literal["low", "normal", "high"]
#: "queued": created, and no coordinator has taken it up yet.
Phase = Literal["queued", "running", "paused", "finished", "cancelled"]

LABEL = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}"
Label = Annotated[str, Field(pattern=f"^{LABEL}$")]
LabelValue = Annotated[str, Field(max_length=200)]


class QueueModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tags(QueueModel):
    """What a run is submitted as; none of it can change its outcome."""

    priority: Priority = "normal"
    labels: dict[Label, LabelValue] = {}


class Retuning(QueueModel):
    """What may change while a run goes on. A key that is not given stays as it is; null lifts a
    limit.
    """

    max_usd: Annotated[float, Field(ge=0)] | None = None
    max_calls: Annotated[int, Field(ge=0)] | None = None
    max_tokens: Annotated[int, Field(ge=0)] | None = None
    max_minutes: Annotated[float, Field(gt=0)] | None = None
    priority: Priority | None = None
    #: Most jobs in flight on each backend; null: by fair share alone.
    window: Annotated[int, Field(ge=1, le=100_000)] | None = None
    patience: Annotated[int, Field(ge=1)] | None = None
    target_score: Annotated[float, Field(ge=0, le=1)] | None = None

    def given(self) -> dict[str, Any]:
        """Give the keys that were named, also those named with null."""
        return self.model_dump(include=self.model_fields_set)


class Money(QueueModel):
    """What was spent. `usd` is null where a backend in use has no price, never 0 for unknown."""

    calls: int
    calls_by_role: dict[Role, int] = {}
    tokens: int
    usd: float | None
    usd_by_role: dict[Role, float] | None = None
    unconfirmed_calls: int = 0


class RunRow(QueueModel):
    """One line of the list of runs."""

    run: str
    name: str
    mode: str
    owner: str
    team: str
    priority: Priority
    labels: dict[str, str]
    phase: Phase
    #: In words: what it does now, why it waits, why it paused or how it ended.
    words: str
    #: Place among the runs that share its backends, 1 is the oldest; null unless queued/running.
    position: int | None
    created_at: float
    ended_at: float | None
    #: Seconds of active time so far, and those still expected; null: not known yet.
    active_s: float
    eta_s: float | None
    step: int
    steps_planned: int | None
    spent: Money
    #: What it is expected to have spent when it ends; null: not known.
    projected_usd: float | None
    projected_calls: int | None
    initial_score: float | None
    current_score: float | None
    best_score: float | None
    dead_jobs: int


class StageShare(QueueModel):
    """How far a stage is: for the timeline."""

    label: str
    began_at: float
    ended_at: float | None
    calls: int | None = None


class BackendShare(QueueModel):
    """What a run has on one backend."""

    backend: str
    in_flight: int
    window: int
    wanted: int


class RunStatus(QueueModel):
    """One run in full, as `skillopt status` and the run page show it."""

    row: RunRow
    stage: str
    stage_done: int
    stage_total: int
    in_flight: int
    shares: tuple[BackendShare, ...]
    cache_hits: int
    #: Hits among the results it has, 0..1; null without any.
    cache_hit_rate: float | None
    budget: dict[str, float | None]
    window: int | None
    stages: tuple[StageShare, ...]
    warnings: tuple[str, ...]
    left_out: dict[str, str]
    given_up: int
    #: Where the coordinator keeps its folder; null if no store of ours has it.
    run_dir: str | None


class CurveRow(QueueModel):
    """One point of the curve: "0" is the start, "3" step 3, "e1" the end of epoch 1."""

    label: str
    train: float | None
    val: float | None
    candidate: float | None
    best: float | None
    verdict: str | None


class TaskChange(QueueModel):
    """One task in a gate: both arms side by side."""

    task: str
    current: float | None
    candidate: float | None
    #: "better", "worse", "same", "invalid", "left_out", "missing"
    change: str
    #: Why, as the judge said it of the candidate's answer; "" if nothing is kept.
    feedback: str = ""
    #: Job ids of the candidate's and the current document's records.
    candidate_records: tuple[str, ...] = ()
    current_records: tuple[str, ...] = ()


class GatePage(QueueModel):
    """One gate (of a step or an epoch end) with reasons and per-task differences."""

    label: str
    step: int
    outcome: str
    reason: str
    sentences: tuple[str, ...]
    candidate_score: float | None
    current_score: float | None
    new_best: bool
    early: bool
    p_value: float | None
    coverage: float | None
    tasks: tuple[TaskChange, ...]


class DiffPage(QueueModel):
    label: str
    before: str
    after: str
    #: Unified diff, by lines.
    lines: tuple[str, ...]


class EventRow(QueueModel):
    seq: int
    at: float
    type: str
    #: In one line, for people.
    words: str
    event: dict[str, Any]


class WorkerRow(QueueModel):
    worker: str
    backend: str
    capacity: int
    lane: str
    version: str


class BackendRow(QueueModel):
    """One backend of the fleet: who serves it, how much it may do, and what holds it up."""

    name: str
    workers: int
    capacity: int
    in_flight: int
    #: Jobs that runs want of it and that no worker has; their oldest waits for so long.
    queued: int
    queue_age_s: float | None
    #: Limits in force: rpm, tpm, concurrency; and those set live, over the workers' own.
    limits: dict[str, float | None]
    set_limits: dict[str, float | None]
    #: Calls that AIMD allows at a time; null: not limited now.
    allowed: int | None
    #: "closed", "open until …", "half open"; "" if unknown.
    breaker: str
    #: Why calls wait now, in words; "" if they do not.
    waiting: str


class FleetPage(QueueModel):
    backends: tuple[BackendRow, ...]
    workers: tuple[WorkerRow, ...]
    coordinators: int
    dead_jobs: int
    redis_memory_bytes: int | None
    queued_runs: int
    running_runs: int


class Quota(QueueModel):
    """What an owner may have at once; null is unlimited."""

    owner: str
    max_runs: int | None = None
    max_window: int | None = None
    #: Open runs now.
    runs: int = 0


class SpendRow(QueueModel):
    key: str
    calls: int
    input_tokens: int
    output_tokens: int
    usd: float
    #: Calls to backends without a price: `usd` is only a part then.
    unpriced_calls: int


class ControlReply(QueueModel):
    run: str
    #: "done": in force. "waiting": left with the run, nobody has taken it up yet. "unchanged": it
    #: was so already.
    outcome: Literal["done", "waiting", "unchanged"]
    words: str

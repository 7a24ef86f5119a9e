"""A coordinator's surroundings in one thread: virtual time, and workers that act when sent to."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from scripted_run import Models, ScriptedRun, finished_job, make_plan

from producer.driver import Driver
from producer.facts import LedgerFacts
from producer.submit import Submission, submit
from skillopt.domain.events import Event, Gated, RunCreated, decode_event
from skillopt.domain.fingerprint import canonical_json, sha256_hex
from skillopt.domain.jobs import JudgeSpec, RolloutSpec, decode_spec
from skillopt.domain.plan import RunPlan
from skillopt.domain.results import Body, ReplyBody
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.domain.timing import Timing
from skillopt.loop.fold import fold
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build
from skillopt.state.ports import Amount, ClaimStatus, Doorbell, Finished, Lane, LogEntry, State

#: The lead is renewed by a thread, in real time: long enough that it never is during a test.
TIMING = Timing(
    lease_s=30,
    lead_s=15,
    lead_renew_s=60,
    tick_s=5,
    resend_s=60,
    infra_delay_s=5,
    max_infra_rounds=3,
    max_lost_claims=2,
    max_quarantine_claims=2,
)

#: Waits after which a run that does not end is stopped.
MOST_WAITS = 5_000


class VirtualClock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


class VirtualDoorbell:
    """Waiting makes the clock go on instead of taking time."""

    def __init__(self, inner: Doorbell, clock: VirtualClock) -> None:
        self._inner = inner
        self._clock = clock
        self.waits = 0
        #: Called at each wait that nothing had rung for.
        self.idle: Callable[[], None] = lambda: None

    def wait(self, run: str, cursor: str, *, timeout_s: float) -> str:
        after = self._inner.wait(run, cursor, timeout_s=0)
        if after == cursor:
            self.waits += 1
            self._clock.now += timeout_s
            self.idle()
        return after

    def ring(self, run: str) -> None:
        self._inner.ring(run)


@dataclass
class Mirror:
    """Remembers what it was shown."""

    entries: list[LogEntry] = field(default_factory=list)

    def follow(self, entries: Sequence[LogEntry], state: RunState, facts: LedgerFacts) -> None:
        self.entries += entries


@dataclass
class Blobs:
    state: State

    def read(self, sha: str) -> bytes:
        return self.state.blobs.get([sha])[sha]

    def put(self, content: bytes) -> str:
        [sha] = self.state.blobs.put([content])
        return sha


@dataclass
class Fleet:
    """Workers that try a job the moment its message is sent."""

    state: State
    timing: Timing
    models: Models = field(default_factory=Models)
    #: Whether a rollout is judged on the spot, as workers do.
    judges_here: bool = True
    #: What happens to a message instead; None lets it be worked on.
    mishap: Callable[[WantedJob, Lane], str | None] = lambda job, lane: None
    #: Messages by job, in the order sent; and the jobs worked on.
    messages: list[tuple[str, Lane]] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    executed: list[str] = field(default_factory=list)

    def send(self, run: str, job: WantedJob, *, backend: str, lane: Lane) -> None:
        self.messages.append((job.id, lane))
        self.labels[job.id] = job.label
        mishap = self.mishap(job, lane)
        if mishap == "lost":
            return
        owner = f"w{len(self.messages)}"
        claim = self.state.claims.claim(job.id, run=run, owner=owner, lane=lane)
        if claim.status is not ClaimStatus.RUN or mishap == "killed":
            return
        if mishap is not None:
            self._give_back(job.id, owner, mishap)
        else:
            self._work(run, job, owner, decode_spec(job.id, claim.spec))

    def _give_back(self, job: str, owner: str, reason: str) -> None:
        delay_s = self.timing.infra_delay_s
        self.state.claims.release(job, owner=owner, delay_s=delay_s, reason=reason)

    def _work(self, run: str, job: WantedJob, owner: str, spec: object) -> None:
        if not isinstance(spec, JudgeSpec) and not self._paid(run, job, owner):
            return
        self.executed.append(job.id)
        body = self.models.answer(job.spec, Blobs(self.state))
        finished = [finished_job(job.id, body, payer=run, calls=1)]
        if self.judges_here and isinstance(job.spec, RolloutSpec):
            finished += self._judged(run, job, body)
        self.state.claims.commit(finished, owner=owner)

    def _judged(self, run: str, job: WantedJob, body: Body) -> list[Finished]:
        if not isinstance(body, ReplyBody) or job.judge is None or job.judge_version is None:
            return []
        spec = JudgeSpec(judge=sha256_hex(job.judge), version=job.judge_version, reply=body.digest)
        blobs = Blobs(self.state)
        blobs.put(canonical_json(body.model_dump(mode="json")))
        return [finished_job(spec.id, self.models.judge(spec, blobs), payer=run, calls=0)]

    def _paid(self, run: str, job: WantedJob, owner: str) -> bool:
        refused = self.state.budgets.reserve(
            run, owner, job=job.id, role=job.role, estimate=Amount(calls=1, tokens=10)
        )
        if refused:
            self.state.claims.release(
                job.id, owner=owner, delay_s=0.0, reason=f"budget: {refused}", drop_run=run
            )
            return False
        self.state.budgets.settle(run, owner, input_tokens=8, output_tokens=2, micro_usd=0)
        return True


@dataclass
class Trouble:
    """The same mishap for each message that it is meant for, so many times a job."""

    what: str
    times: int
    label: str = ""
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, job: WantedJob, lane: Lane) -> str | None:
        if not job.label.startswith(self.label) or self.seen[job.id] >= self.times:
            return None
        self.seen[job.id] += 1
        return self.what


class Bench:
    """One memory state, its clock, a fleet, and any number of runs and coordinators on it."""

    def __init__(self, timing: Timing = TIMING) -> None:
        self.timing = timing
        self.clock = VirtualClock()
        inner = build(timing, self.clock)
        self.doorbell = VirtualDoorbell(inner.doorbell, self.clock)
        self.state = replace(inner, doorbell=self.doorbell)
        self.fleet = Fleet(self.state, timing)
        self.mirror = Mirror()
        self.stop = threading.Event()
        self.doorbell.idle = self._stop_in_the_end

    def _stop_in_the_end(self) -> None:
        if self.doorbell.waits >= MOST_WAITS:
            self.stop.set()

    def submit(self, plan: RunPlan | None = None) -> Submission:
        return submit(self.state, plan or make_plan(), meta={}, wait=self._wait, patience=400)

    def _wait(self, seconds: float) -> None:
        self.clock.now += seconds

    def driver(self, run: str, owner: str = "c1") -> Driver:
        lead = self.state.runs.lead(run, owner)
        assert lead is not None, f"{owner} does not get the lead of {run}"
        return Driver(lead, self.state, self.fleet, self.mirror, self.timing)

    def drive(self, run: str, owner: str = "c1") -> None:
        """Drive a run until it rests, as a coordinator does."""
        lead = self.state.runs.lead(run, owner)
        assert lead is not None, f"{owner} does not get the lead of {run}"
        try:
            Driver(lead, self.state, self.fleet, self.mirror, self.timing).drive(self.stop)
        finally:
            self.state.runs.resign(lead)

    def run(self, plan: RunPlan | None = None) -> RunState:
        """Submit a plan, drive it until it rests and give its state."""
        plan = plan or make_plan()
        self.drive(self.submit(plan).run)
        return self.known(plan)

    # --- what came of it

    def events(self, run: str) -> list[Event]:
        return [decode_event(entry.event) for entry in self.state.runs.log(run)]

    def known(self, plan: RunPlan) -> RunState:
        return fold(plan, self.events(plan.run_id))

    def cache_hits(self, run: str) -> int:
        return LedgerFacts(
            run, self.state.runs.ledger(run), self.state.results, self.state.blobs
        ).cache_hits


def decisions(events: Sequence[Event]) -> tuple[Event, ...]:
    """Leave out what tells of disturbances, and where the plan is stored."""
    return tuple(
        event
        for event in events
        if not isinstance(event, RunCreated | GaveUp | Paused | Resumed)
        and not (isinstance(event, Gated) and event.verdict == "indecisive")
    )


@cache
def undisturbed() -> tuple[Event, ...]:
    """Give what the loop alone decides, without a queue."""
    return decisions(ScriptedRun().finish().events)

"""A team's state with runs on it: submitted, driven by canned workers, and stopped where asked."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fleet_double import TIMING, Fleet, Mirror, VirtualClock
from scripted_run import make_plan

from producer.driver import Driver
from producer.queue.on_redis import RedisQueue
from producer.run_meta import meta_of
from producer.submit import submit
from skillopt.domain.plan import RunPlan
from skillopt.loop.jobs import WantedJob
from skillopt.state.memory.build import build
from skillopt.state.ports import Lane, Lead, State

STOPPED = "stopped here"


def memory_state() -> State:
    return build(TIMING, VirtualClock())


@dataclass
class TeamBench:
    """One state, its workers, and the queue of whoever looks at it."""

    state: State
    store: Path
    fleet: Fleet = field(init=False)
    queue: RedisQueue = field(init=False)

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.state, TIMING)
        self.queue = RedisQueue(self.state, self.store)

    def submit(
        self, plan: RunPlan | None = None, labels: dict[str, str] | None = None, **changes: Any
    ) -> RunPlan:
        plan = plan or make_plan(**changes)
        submit(self.state, plan, meta=meta_of(plan, labels), wait=lambda seconds: None)
        return plan

    def drive(self, plan: RunPlan, until: str = STOPPED, *, keeps_lead: bool = False) -> Lead:
        """Drive a run to its end, or until it wants a job whose label begins with `until`."""
        lead = self.state.runs.lead(plan.run_id, "coordinator-1")
        assert lead is not None
        stop = threading.Event()

        def mishap(job: WantedJob, lane: Lane) -> str | None:
            if job.label.startswith(until):
                stop.set()
                return "lost"
            return None

        self.fleet.mishap = mishap
        Driver(lead, self.state, self.fleet, Mirror(), TIMING).drive(stop)
        if not keeps_lead:
            self.state.runs.resign(lead)
        return lead

    def finished(self, **changes: Any) -> RunPlan:
        plan = self.submit(**changes)
        self.drive(plan)
        return plan

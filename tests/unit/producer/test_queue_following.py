"""A run as it happens: every event once, and the status when it says something new."""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet_double import TIMING, VirtualClock
from queue_bench import TeamBench, memory_state

from producer.queue.following import follow
from producer.queue.models import EventRow, RunStatus
from skillopt.state.memory.build import build


@dataclass
class Doorbell:
    """Rings as told; each wait lets something happen."""

    happenings: list[object] = field(default_factory=list)
    waits: int = 0

    def wait(self, run: str, cursor: str, *, timeout_s: float) -> str:
        if timeout_s == 0:
            return "0"
        self.waits += 1
        if self.happenings:
            happening = self.happenings.pop(0)
            if callable(happening):
                happening()
                return str(self.waits)
        return cursor

    def ring(self, run: str) -> None:
        raise AssertionError("who follows does not ring")


def test_events_come_as_they_happen_and_the_end_ends_it(tmp_path):
    clock = VirtualClock()
    bench = TeamBench(build(TIMING, clock), tmp_path)
    plan = bench.submit()
    queue, run = bench.queue, plan.run_id

    def drive_to_the_end() -> None:
        clock.now += TIMING.resend_s + 1
        bench.drive(plan)

    slept: list[float] = []
    doorbell = Doorbell(
        [
            lambda: bench.drive(plan, "step 1 / gate"),
            None,
            drive_to_the_end,
        ]
    )
    told = list(
        follow(
            doorbell,
            run,
            events=lambda *, after, limit=1000: queue.events(run, after=after, limit=3),
            status=lambda: queue.status(run),
            after=0,
            sleep=slept.append,
        )
    )
    rows = [one.seq for one in told if isinstance(one, EventRow)]
    assert rows == list(range(1, len(bench.state.runs.log(run)) + 1))
    phases = [one.row.phase for one in told if isinstance(one, RunStatus)]
    assert phases == ["queued", "running", "finished"]
    assert len(slept) == 2, "rings are gathered, a quiet look is not"


def test_a_quiet_run_is_told_of_now_and_then(tmp_path):
    bench = TeamBench(memory_state(), tmp_path)
    plan = bench.submit()
    queue, run = bench.queue, plan.run_id
    doorbell = Doorbell([None] * 9 + [lambda: queue.cancel(run)])
    told = list(
        follow(
            doorbell,
            run,
            events=lambda *, after, limit=1000: queue.events(run, after=after, limit=limit),
            status=lambda: queue.status(run),
            after=0,
            sleep=lambda seconds: None,
        )
    )
    phases = [one.row.phase for one in told if isinstance(one, RunStatus)]
    assert phases == ["queued", "queued", "cancelled"]

"""3. Losing a message changes nothing.

The queue only carries the words "please try this job". It may lose them or say them twice. What
is wanted stands in the state, so the coordinator notices a job that has neither a result nor a
worker, and sends it again. A lost message costs time, never a result.
"""

from __future__ import annotations

from skillopt.domain.timing import Timing
from skillopt.state.memory.build import build
from skillopt.state.ports import Finished, Want, WantStatus


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_job_is_sent_until_it_has_a_result():
    clock, timing = Clock(), Timing(resend_s=60, lease_s=30)
    state = build(timing, clock)
    state.runs.create("run", meta={}, events=[], status="running")
    lead = state.runs.lead("run", "coordinator")
    assert lead is not None

    def ask() -> WantStatus:
        [answer] = state.board.want(lead, [Want("job", b"spec")], room=1)
        return answer.status

    assert ask() is WantStatus.SEND
    assert ask() is WantStatus.QUEUED, "the message is under way"

    clock.now += 60  # nobody claimed the job: the message must be lost
    assert ask() is WantStatus.SEND

    state.claims.claim("job", run="run", owner="worker", lane="normal")
    assert ask() is WantStatus.LEASED

    clock.now += 30  # the worker did not renew its lease: it must be dead
    assert ask() is WantStatus.SEND

    state.claims.claim("job", run="run", owner="another", lane="normal")
    state.claims.commit([Finished("job", "line", "body", "{}")], owner="another")
    assert ask() is WantStatus.HIT

"""7. Who owns a run is fenced.

One coordinator at a time looks after a run. Its ownership is a lease with a number, the fence,
that grows with every new owner. A coordinator that was away for too long and still believes it
owns the run is refused when it writes, because its number is old.
"""

from __future__ import annotations

import pytest

from skillopt.domain.timing import Timing
from skillopt.errors import Fenced
from skillopt.state.memory.build import build


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_an_owner_that_slept_too_long_cannot_write():
    clock, timing = Clock(), Timing(lead_s=15)
    state = build(timing, clock)
    state.runs.create("run", meta={}, events=["created"], status="running")

    sleeper = state.runs.lead("run", "coordinator-1")
    assert sleeper is not None
    assert state.runs.lead("run", "coordinator-2") is None, "one owner at a time"

    clock.now += 15  # coordinator 1 sleeps through the end of its lease
    successor = state.runs.lead("run", "coordinator-2")
    assert successor is not None
    assert successor.fence > sleeper.fence

    with pytest.raises(Fenced):
        state.runs.step(sleeper, version=1, events=["stale"], status="running", open=True)
    state.runs.step(successor, version=1, events=["fresh"], status="running", open=True)
    assert [entry.event for entry in state.runs.log("run")] == ["created", "fresh"]

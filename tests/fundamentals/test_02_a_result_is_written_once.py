"""2. A result is written once.

Workers may do the same job twice: a message can arrive twice, a slow worker can come back after
it was given up. That is harmless, because the first result that is committed stays. Whoever
comes later is told so and changes nothing.
"""

from __future__ import annotations

from skillopt.domain.timing import Timing
from skillopt.state.memory.build import build
from skillopt.state.ports import ClaimStatus, Finished, Want


def test_the_first_commit_wins():
    state = build(Timing(), clock=lambda: 0.0)
    state.runs.create("run", meta={}, events=[], status="running")
    lead = state.runs.lead("run", "coordinator")
    assert lead is not None
    state.board.want(lead, [Want("job", b"spec")], room=1)

    first = state.claims.claim("job", run="run", owner="worker-1", lane="normal")
    second = state.claims.claim("job", run="run", owner="worker-2", lane="normal")
    assert (first.status, second.status) == (ClaimStatus.RUN, ClaimStatus.BUSY)

    # Worker 2 works on it all the same, as one does that had been taken for dead.
    result, other = Finished("job", "line", "body", "{}"), Finished("job", "late", "late", "{}")
    assert state.claims.commit([result], owner="worker-1") == [True]
    assert state.claims.commit([other], owner="worker-2") == [False]
    assert state.results.get(["job"])["job"].body == "body"

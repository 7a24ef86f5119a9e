"""4. An infrastructure failure is never a score.

A wrong answer is the model's doing and scores zero. A timeout, a refused key or a killed worker
says nothing about the model: it has no score at all. The item is *missing*, the gate does not
decide, and the run pauses and names it. When the results are there, the run goes on as if
nothing had happened.
"""

from __future__ import annotations

from scripted_run import ScriptedRun

from skillopt.domain.events import Gated, Proposed
from skillopt.domain.steering_events import GaveUp, Paused, Resumed
from skillopt.loop.decide import decide


def test_a_run_with_an_outage_waits_and_then_decides_the_same():
    undisturbed = ScriptedRun().until(Gated).events

    run = ScriptedRun().until(Proposed)
    wanted = decide(run.state, run, run.factory).wanted
    lost = next(job for job in wanted if "val-beta" in job.label)
    run.record(GaveUp(jobs={lost.id: "timeout: no answer in 120 s"}))
    while not run.state.paused:
        run.advance()

    indecisive, paused = run.events[-2:]
    assert isinstance(indecisive, Gated)
    assert indecisive.verdict == "indecisive"
    assert indecisive.measurement.items["val-beta"].hard is None, "missing, not zero"
    assert isinstance(paused, Paused)
    assert "val-beta" in paused.detail

    run.record(Resumed())
    while not isinstance(run.events[-1], Gated):
        run.advance()
    told = (GaveUp, Paused, Resumed)
    kept = [e for e in run.events if not isinstance(e, told) and e != indecisive]
    assert kept == undisturbed

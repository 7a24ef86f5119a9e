"""6. A run is a fold of its log.

A run's only truth is its log of events. The state is computed from it (`fold`), and what to do
next is computed from the state and the results (`decide`). So a coordinator may die at any
moment: another one reads the log and arrives at the same place, and at the same end.
"""

from __future__ import annotations

from scripted_run import ScriptedRun

from skillopt.loop.fold import fold


def test_the_log_alone_gives_the_state():
    run = ScriptedRun().finish()
    assert fold(run.plan, run.events) == run.state


def test_a_run_that_is_interrupted_anywhere_ends_like_one_that_was_not():
    whole = ScriptedRun().finish()
    for length in range(1, len(whole.events)):
        successor = ScriptedRun()
        successor.events = whole.events[:length]
        successor.state = fold(successor.plan, successor.events)
        assert successor.finish().events == whole.events

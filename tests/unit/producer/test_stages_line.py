from __future__ import annotations

from itertools import pairwise

from recorded_runs import run_of
from scripted_run import ScriptedRun, make_plan

from producer.queue.stages_line import StagesLine
from skillopt.domain.events import Paused, Resumed, decode_event
from skillopt.state.ports import LogEntry


def line_of(run: ScriptedRun, entries: list[LogEntry] | None = None) -> StagesLine:
    line = StagesLine(run.plan)
    for entry in run.log() if entries is None else entries:
        line = line.after(entry.at, decode_event(entry.event))
    return line


def test_a_run_is_cut_into_its_stages_without_gaps():
    run = ScriptedRun().finish()
    over = line_of(run).over
    assert [stage.label for stage in over[:6]] == [
        "baseline",
        "step 1 / reflect",
        "step 1 / merge",
        "step 1 / rank",
        "step 1 / update",
        "step 1 / gate",
    ]
    assert over[-1].label == "final test"
    for before, after in pairwise(over):
        assert before.ended_at is not None
        assert before.began_at < before.ended_at <= after.began_at


def test_the_ends_of_epochs_have_stages_of_their_own():
    run = run_of("slow update").finish()
    labels = {stage.label for stage in line_of(run).over}
    assert {"epoch 2 / compare", "epoch 2 / slow update", "epoch 2 / meta skill"} <= labels


def test_a_test_in_the_background_is_no_stage():
    run = ScriptedRun().finish()
    tests = [stage for stage in line_of(run).over if "test" in stage.label]
    assert len(tests) == 1


def test_a_pause_has_its_time():
    run = ScriptedRun()
    run.advance()
    run.record(Paused(why="requested", detail=""))
    run.record(Resumed())
    assert [stage.label for stage in line_of(run).over] == ["paused"]


def test_the_stage_under_way_is_open():
    run = ScriptedRun()
    *before, now = line_of(run).shown("baseline")
    assert before == []
    assert (now.label, now.began_at, now.ended_at) == ("baseline", run.started_at + 1, None)
    assert line_of(run).shown("") == ()


def test_measurements_are_named_by_split_or_number():
    evaluated = ScriptedRun(make_plan(mode="eval", eval_split="val")).finish()
    assert [stage.label for stage in line_of(evaluated).over] == ["eval val"]
    repeated = ScriptedRun(make_plan(mode="aa", arms=2)).finish()
    assert [stage.label for stage in line_of(repeated).over] == ["arm 1", "arm 2"]

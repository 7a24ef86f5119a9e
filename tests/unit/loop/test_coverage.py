from __future__ import annotations

from dataclasses import replace

import pytest
from loop_values import measurement
from scripted_run import ScriptedRun, make_plan

from skillopt.loop.coverage import too_little


def state(least: float = 1.0, **given_up: str):
    run = ScriptedRun(make_plan(settings={"evaluation": {"min_coverage": least}}))
    return replace(run.state, given_up=given_up)


def test_all_scored_is_enough():
    assert too_little(state(), measurement(a=0.0, b=1.0), "baseline") is None


@pytest.mark.parametrize(("least", "enough"), [(0.5, True), (0.51, False)])
def test_the_limit_itself_is_enough(least, enough):
    found = too_little(state(least), measurement(a=1.0, b="missing"), "baseline")
    assert (found is None) == enough


def test_the_pause_names_tasks_limit_and_cause():
    missing = {f"t{index}": "missing" for index in range(7)}
    found = too_little(state(one="429", two="429"), measurement(a=1.0, **missing), "baseline")
    assert found is not None
    assert found.why == "coverage"
    assert found.detail == (
        "baseline: 7 of 8 items have no score (t0, t1, t2, t3, t4 and 2 more); "
        "min_coverage is 100%; 429"
    )


def test_what_is_invalid_or_left_out_is_not_missing():
    known = measurement(a=1.0, b="invalid", c="left_out")
    assert known.coverage == 0.5
    assert too_little(state(), known, "baseline") is None


@pytest.mark.parametrize("status", ["invalid", "left_out"])
def test_nothing_scored_at_all_pauses_unless_it_may_be_so(status):
    nothing = measurement(a=status)
    found = too_little(state(), nothing, "final test")
    assert found is not None
    assert found.detail == "final test: every item is invalid or left out, none has a score"
    assert too_little(state(), nothing, "final test", may_be_empty=True) is None


def test_what_made_every_task_invalid_is_said_once_each():
    nothing = measurement(a="invalid", b="invalid")
    reasons = ["task 'a': no", "task 'a': no", "task 'b': no", "task 'c': no"]
    found = too_little(state(), nothing, "baseline", invalid_because=lambda: reasons)
    assert found is not None
    assert found.detail.endswith(
        "none has a score: task 'a': no; task 'b': no; mend it, or let `--cache refresh` try anew"
    )


def test_what_may_be_empty_may_still_not_be_missing():
    unknown = measurement(a="missing", b="invalid")
    assert too_little(state(), unknown, "final test", may_be_empty=True) is not None

"""What comes back from a run, finished or paused."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest
from recorded_runs import folder_of, run_of
from scripted_run import ScriptedRun

from producer.run_result import RunPaused, RunResult
from producer.session import Ended
from producer.summary import summarize
from skillopt.domain.events import Measured
from skillopt.domain.steering_events import Paused
from skillopt.errors import SkillOptError
from skillopt.state.ports import Spend


def result_of(run: ScriptedRun, path: Path) -> RunResult:
    summary = summarize(
        run.state,
        skill="SKILL.md",
        spend=Spend(),
        cache_hits=0,
        seconds=1.0,
        run_dir="where it was",
        priced=True,
    )
    return RunResult.of(Ended(summary, run.state), folder_of(run, path))


@pytest.mark.parametrize("mode", ["edits", "memory", "rewrite"])
def test_a_finished_run_gives_its_best_documents_scores_and_log(tmp_path, mode):
    run = run_of(mode).finish()
    result = result_of(run, tmp_path)
    assert result.state == "finished"
    assert result.reason == result.summary.reason != ""
    assert result.skill == run.state.texts[run.state.best].skill
    assert result.memory == run.state.texts[run.state.best].memory
    assert result.events == tuple(run.events)
    assert result.best.val.hard > result.initial.val.hard
    assert result.accepted
    assert result.run_dir == tmp_path.resolve()
    assert result.summary.run_dir == str(tmp_path.resolve())
    assert result.raise_if_paused() is result


def test_a_paused_run_says_why_and_can_be_made_an_error(tmp_path):
    run = run_of("edits").until(Measured)
    run.record(Paused(why="budget", detail="no calls left"))
    result = result_of(run, tmp_path)
    assert (result.state, result.accepted) == ("paused", False)
    assert result.skill == run.plan.skill
    assert result.best.test is None
    with pytest.raises(RunPaused, match="no calls left") as caught:
        result.raise_if_paused()
    assert run.state.run in str(caught.value)
    assert isinstance(caught.value, SkillOptError)


def test_a_result_cannot_be_changed(tmp_path):
    result = result_of(run_of("edits").finish(), tmp_path)
    with pytest.raises(FrozenInstanceError):
        result.skill = ""

"""`skillopt show` on a run with slow updates, left-out tasks and a memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded_runs import folder_of, run_of
from scripted_run import ScriptedRun

from producer.artifacts import write_records
from producer.cli import main
from skillopt.domain.events import Measured
from skillopt.domain.steering_events import LeftOut


def stored(run: ScriptedRun, path: Path) -> Path:
    folder = folder_of(run, path / "runs" / run.plan.run_id)
    folder.derive(run.state)
    write_records(folder, run.store.state(), run.state, run)
    return path


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    return stored(run_of("slow update").finish(), tmp_path_factory.mktemp("slow"))


def show(store: Path, *options: str) -> int:
    return main.run_command(["show", "last", *options, "--store", str(store)])


def answer(store: Path, capsys, *options: str) -> dict:
    assert show(store, *options, "--json") == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_the_end_of_an_epoch_is_shown(store, capsys):
    assert show(store, "--epoch", "2") == 0
    out = capsys.readouterr().out
    assert "End of epoch 2" in out
    assert "accepted, new best" in out
    assert "Meta skill (for the optimizer only)" in out
    assert "epoch 2 / slow update" in out


def test_the_end_of_an_epoch_is_one_object_with_json(store, capsys):
    end = answer(store, capsys, "--epoch", "2")
    assert (end["outcome"], end["meta_skill"]) == ("accepted", "ok")
    assert end["compared"]["epoch"] == 2
    assert end["gated"]["source"] == "slow_update"
    assert "SLOW_UPDATE_START" in end["diff"]
    assert end["memory_diff"] is None
    assert [call["call"] for call in end["calls"]] == ["slow_update", "meta_skill"]


def test_the_overview_lists_the_ends_of_epochs(store, capsys):
    overview = answer(store, capsys)
    assert [end["epoch"] for end in overview["epoch_ends"]] == [2, 3]
    assert [end["outcome"] for end in overview["epoch_ends"]] == ["accepted", "rejected"]
    assert len(overview["steps"]) == 6


def test_every_optimizer_call_can_be_shown_by_its_id_and_by_its_label(store, capsys):
    end, step = answer(store, capsys, "--epoch", "2"), answer(store, capsys, "--step", "1")
    calls = [*end["calls"], *step["calls"]]
    assert {call["call"] for call in calls} >= {"reflect_failure", "rank", "slow_update"}
    for call in calls:
        by_id = answer(store, capsys, "--call", call["job"][:16])["call"]
        by_label = answer(store, capsys, "--call", call["label"])["call"]
        assert by_id == by_label
        assert by_id["label"] == call["label"]
        assert by_id["messages"][0]["role"] == "system"


def test_a_step_lists_its_optimizer_calls_with_their_ids(store, capsys):
    call = answer(store, capsys, "--step", "1")["calls"][0]
    assert show(store, "--step", "1") == 0
    assert f"{call['job'][:16]}  {call['label']}\n" in capsys.readouterr().out


def test_a_task_can_be_narrowed_to_the_end_of_an_epoch(store, capsys):
    records = answer(store, capsys, "--task", "train-0", "--epoch", "2")["records"]
    assert {record["epoch_end"] for record in records} == {2}
    assert {record["kind"] for record in records} == {"rollout", "optimizer"}
    everything = answer(store, capsys, "--task", "train-0")["records"]
    assert {record["epoch_end"] for record in everything} == {None, 2, 3}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--epoch", "1"], "it has those of epochs: 2, 3"),
        (["--task", "train-0", "--epoch", "9"], "it has those of epochs: 2, 3"),
        (["--epoch", "0"], "(given: '0')"),
        (["--epoch", "2", "--step", "1"], "exclude each other; give one"),
        (["--call", "epoch 9 / slow update"], "'epoch 9 / slow update'"),
    ],
)
def test_what_is_not_there_is_bad_input_with_what_there_is(store, capsys, options, named):
    assert show(store, *options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert named in err


def test_a_run_without_ends_of_epochs_says_so(tmp_path, capsys):
    of = stored(run_of("edits").until(Measured), tmp_path)
    assert show(of, "--epoch", "1") == 2
    assert "it has those of epochs: none yet" in capsys.readouterr().err


def test_a_task_that_was_left_out_says_why(tmp_path, capsys):
    run = run_of("edits").until(Measured)
    run.record(LeftOut(items={"val-unknown": "nobody knows it"}))
    of = stored(run.finish(), tmp_path)
    assert show(of, "--task", "val-unknown") == 0
    out = capsys.readouterr().out
    assert "This task is left out of every comparison: nobody knows it" in out
    assert "outcome: left out of every comparison" in out
    assert answer(of, capsys)["left_out"] == {"val-unknown": "nobody knows it"}


def test_both_differences_of_a_step_are_given(tmp_path, capsys):
    run = run_of("memory").finish()
    step = next(s for s in run.state.steps if s.proposed and s.proposed.memory != run.plan.memory)
    shown = answer(stored(run, tmp_path), capsys, "--step", str(step.started.step))
    assert "+Always say" in shown["memory_diff"]
    assert shown["proposed"]["memory"] == step.proposed.memory


def test_the_decided_budget_and_the_reminders_are_in_a_steps_object(tmp_path, capsys):
    budget = answer(stored(run_of("autonomous").finish(), tmp_path / "a"), capsys, "--step", "1")
    assert budget["budget"]["edit_budget"] == 2
    notes = answer(stored(run_of("notes").finish(), tmp_path / "b"), capsys, "--step", "1")
    assert notes["noted"]["status"] == "consolidated"

"""`skillopt show` on a run folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from sample_runs import BETTER, HOSTILE, events, plan, rollout, state, summary

from producer.cli import main
from producer.records import CallReceipt, OptimizerRecord
from producer.run_folder import RunFolder
from skillopt.domain.events import encode_event
from skillopt.domain.fingerprint import text_hash
from skillopt.state.ports import LogEntry


@pytest.fixture
def store(tmp_path) -> Path:
    of = plan()
    folder = RunFolder(tmp_path / "runs" / of.run_id)
    folder.create(of, {"skill": "SKILL.md"})
    log = [
        LogEntry(seq=number, at=100.0 + number, event=encode_event(event))
        for number, event in enumerate(events(of), start=1)
    ]
    folder.mirror(log)
    folder.derive(state())
    folder.write_summary(summary())
    gate = [rollout(), rollout(item="v2", rollout="ab" * 32, hard=1.0)]
    folder.write_records("step-0001-3-gate", gate)
    optimizer = OptimizerRecord(
        stage="step 1 / reflect",
        step=1,
        outcome="scored",
        call="reflect_failure",
        label="step 1 / reflect failure 0",
        job="c" * 64,
        items=("t1",),
        reply=HOSTILE,
        receipt=CallReceipt(worker="w2", calls=1, from_cache=True),
    )
    folder.write_records("step-0001-2-optimizer", [optimizer])
    return tmp_path


def show(store: Path, *options: str) -> int:
    return main.run_command(["show", *options, "--store", str(store)])


def test_the_overview_shows_state_scores_and_steps(store, capsys):
    assert show(store, "last") == 0
    out = capsys.readouterr().out
    assert "finished: the validation score is at its maximum" in out
    assert "n=2 [0.34, 1.00]" in out
    assert "rejected: hard stayed" in out
    assert f"Run folder: {store / 'runs' / plan().run_id}\n" in out  # where it is now


def test_the_overview_is_one_object_with_json(store, capsys):
    assert show(store, "briefs", "--json") == 0
    out, err = capsys.readouterr()
    overview = json.loads(out)
    assert overview["state"] == "finished"
    assert overview["best"]["test"]["hard"] == 1.0
    assert [row["outcome"] for row in overview["steps"]] == ["rejected", "skipped", "accepted"]
    assert overview["summary"]["calls"]["total"] == 15
    assert err == ""


def test_a_run_without_summary_still_has_its_scores_but_claims_no_calls(store, capsys):
    next(store.glob("runs/*/summary.json")).unlink()
    assert show(store, "last", "--json") == 0
    overview = json.loads(capsys.readouterr().out)
    assert overview["best"]["val"]["hard"] == 1.0
    assert overview["summary"] is None
    assert show(store, "last") == 0
    assert "Calls:" not in capsys.readouterr().out


def test_a_run_folder_can_be_named_by_its_path(store, capsys):
    folder = next(store.glob("runs/*"))
    assert main.run_command(["show", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["run"] == folder.name


def test_the_store_of_the_working_directory_is_the_default(store, capsys, monkeypatch, tmp_path):
    (store / "here").mkdir()
    (store / "here" / ".skillopt").symlink_to(store)
    monkeypatch.chdir(store / "here")
    assert main.run_command(["show", "last"]) == 0


def test_a_step_shows_edits_gate_and_difference(store, capsys):
    assert show(store, "last", "--step", "3") == 0
    out = capsys.readouterr().out
    assert "accepted, new best" in out
    assert "+- End with the line DONE." in out


def test_a_step_is_one_object_with_json(store, capsys):
    assert show(store, "last", "--step", "3", "--json") == 0
    step = json.loads(capsys.readouterr().out)
    assert step["gated"]["verdict"] == "accept"
    assert step["proposed"]["skill"] == text_hash(BETTER)
    assert step["skipped"] is None
    assert "+- End with the line DONE." in step["diff"]


def test_a_task_shows_every_attempt_in_full_and_literally(store, capsys):
    assert show(store, "last", "--task", "v1") == 0
    out = capsys.readouterr().out
    assert "FAIL contains 'DONE': it does not" in out
    assert "[bold red]boo[/]" in out
    assert "\x1b" not in out
    assert "task v2" not in out


def test_a_task_includes_the_optimizer_calls_that_saw_it(store, capsys):
    assert show(store, "last", "--task", "t1", "--json") == 0
    records = json.loads(capsys.readouterr().out)["records"]
    assert [record["kind"] for record in records] == ["optimizer"]


def test_a_task_can_be_narrowed_to_a_step(store, capsys):
    assert show(store, "last", "--task", "v1", "--step", "3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["records"] == []


def test_a_call_is_found_by_a_prefix(store, capsys):
    assert show(store, "last", "--call", "cc", "--json") == 0
    call = json.loads(capsys.readouterr().out)["call"]
    assert call["label"] == "step 1 / reflect failure 0"
    assert show(store, "last", "--call", "cc") == 0
    assert "from the cache, first done by w2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["nothing"], "'nothing'"),
        (["last", "--step", "9"], "it has steps 1 to 3"),
        (["last", "--task", "v11"], "did you mean 'v1'?"),
        (["last", "--call", "ffff"], "'ffff'"),
        (["last", "--call", "a"], "means 2 calls"),
        (["last", "--step", "0"], "(given: '0')"),
    ],
)
def test_what_is_not_there_is_bad_input_with_what_there_is(store, capsys, options, named):
    assert show(store, *options) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert named in err


def test_an_empty_store_says_how_to_start(tmp_path, capsys):
    assert show(tmp_path, "last") == 2
    assert "skillopt run SPEC" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_without_a_store_here_the_ones_below_are_named(tmp_path, capsys, monkeypatch):
    (tmp_path / "my-skill" / ".skillopt" / "runs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert main.run_command(["show", "last"]) == 2
    message = capsys.readouterr().err
    assert "there is one in 'my-skill/.skillopt'; name one with --store DIR" in message

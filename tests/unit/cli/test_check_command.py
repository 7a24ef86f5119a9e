"""`skillopt check` with --strict and --explain."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from producer.cli import main

CONTENT = {"kind": "rule", "checks": [{"op": "contains", "arg": "Total:"}]}
NOTHING = {"kind": "rule", "checks": [{"op": "max_chars", "arg": 900}]}


@pytest.fixture
def spec(tmp_path, monkeypatch):
    monkeypatch.delenv("SKILLOPT_BACKENDS", raising=False)
    monkeypatch.delenv("SIM_URL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))
    (tmp_path / "SKILL.md").write_text("# Sums\n")
    write_tasks(tmp_path, CONTENT)
    path = tmp_path / "spec.yaml"
    path.write_text("skill: SKILL.md\ntasks: tasks.jsonl\nmodel: {target: sim}\n")
    return path


def write_tasks(folder: Path, judge: dict) -> None:
    lines = [
        json.dumps({"id": f"t{n}", "task": f"Add page {n}.", "judge": judge}) for n in range(6)
    ]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")


def check(spec: Path, *options: str) -> int:
    return main.run_command(["check", str(spec), *options])


def test_suspicious_tasks_are_a_warning_and_strict_refuses_them(spec, capsys):
    write_tasks(spec.parent, NOTHING)
    assert check(spec) == 0
    out, err = capsys.readouterr()
    assert "Ready to run." in out
    assert "6 of 6 tasks" in err
    assert "pass with the answer 'OK.'" in err
    assert check(spec, "--strict") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{spec}:2: tasks: 6 of 6 tasks" in err


def test_strict_refuses_in_json_too(spec, capsys):
    write_tasks(spec.parent, NOTHING)
    assert check(spec, "--json") == 0
    checked = json.loads(capsys.readouterr().out)
    assert len(checked["lint"]) == 1
    assert checked["lint"][0] in checked["warnings"]
    assert check(spec, "--strict", "--json") == 2
    assert "6 of 6 tasks" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_strict_accepts_other_warnings_and_sound_tasks(spec, capsys):
    unused = ("--set", "evaluation.gate_mixed_weight=0.1")
    assert check(spec, "--strict", *unused) == 0
    assert "evaluation.gate_mixed_weight: 0.1 is not used" in capsys.readouterr().err


def test_explain_shows_each_value_and_where_it_came_from(spec, capsys):
    assert check(spec, "--explain", "--set", "train.seed=7") == 0
    lines = capsys.readouterr().out.splitlines()
    shown = {line.split()[0]: line.split()[1:] for line in lines if "  " in line}
    assert shown["train.seed"] == ["7", "--set"]
    assert shown["train.num_epochs"] == ["2", "default"]
    assert shown["model.target"] == ['"sim"', f"{spec}:3"]
    assert shown["evaluation.significance"] == ["null", "default"]
    assert shown["backends.sim.kind"][0] == '"simulated"'


def test_explain_as_json_has_every_key_with_value_and_origin(spec, capsys):
    assert check(spec, "--json") == 0
    assert "explain" not in json.loads(capsys.readouterr().out)
    assert check(spec, "--explain", "--json") == 0
    explained = json.loads(capsys.readouterr().out)["explain"]
    assert explained["model.target"] == {"value": "sim", "origin": f"{spec}:3"}
    assert explained["evaluation.no_regression"] == {"value": [], "origin": "default"}
    assert explained["budget.max_usd"] == {"value": None, "origin": "default"}


def test_who_pays_beside_the_run_is_shown(spec, capsys, monkeypatch):
    monkeypatch.setenv("SKILLOPT_OWNER", "alice")
    assert check(spec, "--set", "team=blue") == 0
    assert "no limit; owner 'alice' and team 'blue' may allow less" in capsys.readouterr().out
    assert check(spec, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["owner"], told["team"]) == ("alice", None)


def test_documents_prompts_and_gate_are_shown(spec, capsys):
    (spec.parent / "M.md").write_text("# Facts\n")
    (spec.parent / "prompts").mkdir()
    (spec.parent / "prompts" / "rank.md").write_text("Choose.\n")
    with spec.open("a") as stream:
        stream.write(
            "memory: M.md\nevolve: both\nprompts: prompts\n"
            "evaluation: {significance: 0.9, no_regression: [all], samples: 2}\n"
        )
    assert check(spec) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "skill and memory" in out
    assert "8 characters" in out
    assert "rank" in out
    assert "hard on val, 2 samples of each task, significance 0.9 over 3 gates" in out
    assert "no regression of 2 tasks" in out
    assert check(spec, "--json") == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["evolve"] == "both"
    assert checked["prompts"] == ["rank"]
    assert checked["gates"] == 3
    assert len(checked["memory"]["hash"]) == 64
    assert checked["skill"]["files"] == []


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ([], "2 (2 epochs of 1, at most 3 tasks each)"),
        (["--set", "train.batch_size=1"], "6 (2 epochs of 3, at most 1 task each)"),
        (
            ["--set", "train.batch_size=1", "--set", "train.accumulation=2"],
            "4 (2 epochs of 2, at most 2 tasks each)",
        ),
    ],
)
def test_the_tasks_of_a_step_are_those_that_it_has(spec, capsys, options, steps):
    spec.write_text(spec.read_text() + 'split: {ratio: "2:1:1"}\n')
    assert check(spec, *options) == 0
    assert steps in capsys.readouterr().out

"""Training on tasks that a model judges, by the real command with two simulated backends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FleetCommand, skillopt
from notes_benchmark import SKILL

from producer.records import RolloutRecord
from producer.run_folder import RunFolder

POINTS = {
    "verdict": 'The note contains "Verdict:".',
    "risks": 'It has a section headed "Key Risks".',
    "confidence": 'It mentions "Confidence:" in its text.',
}
SPLITS = {
    "train": ("verdict", "risks", "confidence", "verdict+risks"),
    "val": ("verdict", "risks+confidence", "confidence", "verdict+risks"),
    "test": ("verdict+confidence", "risks"),
}


def rows(split: str) -> list[dict[str, Any]]:
    """Give the tasks of a split; the last has no rubric of its own."""
    tasks = []
    for number, points in enumerate(SPLITS[split]):
        listed = "\n".join(f"- {POINTS[point]}" for point in points.split("+"))
        task = {
            "task_id": f"{split}_{number}",
            "task": f"Write a note on the ferries, number {number} of {split}.",
            "rubric": f"A good note does this:\n{listed}",
        }
        tasks.append(task)
    if split == "test":
        del tasks[-1]["rubric"]
    return tasks


def write(folder: Path, **judge: Any) -> Path:
    (folder / "tasks").mkdir(parents=True, exist_ok=True)
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    for split in SPLITS:
        lines = "\n".join(map(json.dumps, rows(split)))
        (folder / "tasks" / f"{split}.jsonl").write_text(lines, encoding="utf-8")
    spec = {
        "name": "graded",
        "skill": "SKILL.md",
        "tasks": "tasks",
        "judge": {"kind": "rubric", "rubric": POINTS["risks"], "threshold": 0.9, **judge},
        "model": {"target": "sim", "judge": {"use": "critic", "params": {"temperature": 0}}},
        "backends": {
            "sim": {"kind": "simulated", "simulator": {"seed": 4}},
            "critic": {
                "kind": "simulated",
                "price": {"input": 1, "output": 1},
                "simulator": {"seed": 9, "malformed_rate": 0.2},
            },
        },
        "train": {"num_epochs": 2, "batch_size": 4},
    }
    path = folder / "spec.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> FleetCommand:
    folder = tmp_path_factory.mktemp("rubric")
    write(folder)
    command = FleetCommand(folder)
    assert command.run() == 0, command.err() + command.logs()
    return command


def records(command: FleetCommand) -> list[RolloutRecord]:
    found = RunFolder(command.run_dir()).records()
    return [record for record in found if isinstance(record, RolloutRecord)]


def test_val_rises_by_what_the_judge_says(trained):
    summary = trained.summary()
    assert summary["initial"]["val"]["hard"] < 0.5
    assert summary["best"]["val"]["hard"] == 1.0
    assert summary["best"]["val"]["coverage"] == 1.0
    best = (trained.run_dir() / "best_skill.md").read_text(encoding="utf-8")
    assert "Key Risks" in best
    assert "Confidence:" in best


def test_calls_of_the_judge_are_counted_in_its_role(trained):
    summary = trained.summary()
    calls = summary["calls"]
    assert calls["judge"] > calls["target"], "some verdicts were asked for twice"
    assert calls["total"] == sum(calls[role] for role in ("target", "optimizer", "judge"))
    assert summary["cost_usd"] is None or summary["cost_usd"] > 0


def test_no_rollout_is_repeated_because_of_its_judge(trained):
    attempts = {record.rollout for record in records(trained)}
    assert trained.summary()["calls"]["target"] == len(attempts)
    asked_twice = [one for one in records(trained) if one.judge_receipt.calls == 2]
    assert asked_twice
    assert all(one.receipt.calls == 1 for one in records(trained))


def test_show_tells_what_the_judge_was_asked_and_said(trained):
    code, shown = skillopt("show", "last", "--task", "val_1", cwd=trained.folder)
    assert code == 0
    record = shown["records"][0]
    assert [one["role"] for one in record["judge_messages"]][:3] == ["system", "user", "assistant"]
    assert POINTS["risks"] in record["judge_messages"][1]["content"]
    assert record["reply"] in record["judge_messages"][1]["content"]
    assert record["judge_receipt"]["worker"].startswith("critic-1-")
    assert POINTS["risks"] not in json.dumps(record["messages"])


def test_check_names_the_judges_backend_and_plan_counts_its_calls(trained):
    spec = str(trained.folder / "spec.yaml")
    _, checked = skillopt("check", spec, cwd=trained.folder)
    assert checked["backends"]["judge"]["name"] == "critic"
    _, planned = skillopt("plan", spec, cwd=trained.folder)
    assert planned["phases"][0]["calls"] == 2 * len(SPLITS["val"])


@pytest.mark.slow
@pytest.mark.parametrize("change", ["threshold=0.4", 'rubric="It is polite."'])
def test_another_threshold_or_rubric_judges_anew_without_any_rollout(trained, change):
    spec = str(trained.folder / "spec.yaml")
    arguments = ("eval", spec, "--split", "test", "--set", f"judge.{change}")
    code, summary = skillopt(*arguments, cwd=trained.folder)
    assert code == 0
    assert summary["calls"]["target"] == 0
    assert summary["calls"]["judge"] > 0
    again, cached = skillopt(*arguments, "--set", "name=again", cwd=trained.folder)
    assert again == 0
    assert cached["calls"]["total"] == 0
    assert cached["cache_hits"] == 2 * len(SPLITS["test"])

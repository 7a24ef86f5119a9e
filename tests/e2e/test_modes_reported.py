"""What the commands around a run say of it: before, while measuring noise, and afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fleet_command import skillopt, until
from notes_benchmark import FROZEN, SKILL, skill_with, tasks
from trained_run import TrainedRun, prepare, train

from skillopt.domain.events import Compared
from skillopt.domain.fingerprint import sha256_hex

pytestmark = pytest.mark.xdist_group("e2e-modes")

SETTINGS: dict[str, Any] = {
    "train": {"num_epochs": 2, "batch_size": 8, "seed": 3},
    "gradient": {"minibatch_size": 4},
    "optimizer": {"learning_rate": 2, "lr_scheduler": "constant"},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """A run whose first steps and whose guidance were accepted."""
    run = train(tmp_path_factory.mktemp("reported"), SETTINGS)
    assert [gated.verdict for gated in run.state().gates] == ["accept"] * 3
    return run


def ask(run: TrainedRun, command: str, *arguments: str) -> dict[str, Any]:
    code, said = skillopt(command, *arguments, cwd=run.folder)
    assert code == 0, said
    return said


def test_plan_foresees_what_the_run_then_takes(trained: TrainedRun) -> None:
    ahead = ask(trained, "plan", "spec.yaml")
    took = trained.summary()
    assert ahead["run"] == took["run"]
    assert ahead["steps"] == took["steps"] == 2
    assert took["calls"]["total"] <= ahead["total"]["calls"] < 2 * took["calls"]["total"]
    assert took["tokens"]["input"] <= ahead["total"]["input_tokens"]
    assert took["tokens"]["output"] <= ahead["total"]["output_tokens"]
    assert ahead["gate"]["gates"] == len(trained.state().gates)
    assert 0 < ahead["gate"]["smallest_effect"] < 1
    # A budget buys steps in their order, and must pay for the first one.
    least = sum(phase["calls"] for phase in ahead["phases"][:2])
    for cap, steps in ((least, 1), (ahead["total"]["calls"], 2)):
        bought = ask(trained, "plan", "spec.yaml", "--set", f"budget.max_calls={cap}")
        assert bought["steps_in_budget"] == steps
    too_small = f"budget.max_calls={least - 1}"
    code, refused = skillopt("plan", "spec.yaml", "--set", too_small, cwd=trained.folder)
    assert code == 2
    assert f"budget.max_calls: {least - 1} calls" in refused["error"]["message"]


def test_explain_says_why_in_words(trained: TrainedRun) -> None:
    whole = ask(trained, "explain", "last")["parts"]
    assert [part["title"] for part in whole] == [
        "Step 1 (epoch 1): accepted",
        "Step 2 (epoch 2): accepted",
        "End of epoch 2: accepted",
    ]
    [step] = ask(trained, "explain", "last", "--step", "2")["parts"]
    assert step == whole[1]
    [gated] = [gate for gate in trained.gates() if gate.step == 2]
    assert f"Verdict: {gated.reason}." in step["sentences"]
    [epoch] = ask(trained, "explain", "last", "--epoch", "2")["parts"]
    assert any("guidance" in sentence for sentence in epoch["sentences"])
    assert any(sentence.startswith("Meta skill learnt") for sentence in epoch["sentences"])


def test_blame_traces_each_line_to_its_step_its_tasks_and_its_gain(trained: TrainedRun) -> None:
    said = ask(trained, "blame", "last")
    lines = said["lines"]
    assert said["document"] == trained.state().best
    assert [line["text"] for line in lines] == trained.best().skill.splitlines()
    by_text = {line["text"]: line for line in lines}
    assert by_text["Notes are for the council."]["step"] == 0
    assert by_text["# Notes"]["tasks"] == []
    first, second, slow = trained.state().gates
    for line in lines:
        if line["step"] and line["text"].startswith("- "):
            gated = {"slow_update": slow, "step": {1: first, 2: second}.get(line["step"])}
            brought = gated[line["source"]]
            assert line["gain"] == pytest.approx(brought.candidate_score - brought.current_score)
            assert line["verdict"] == "accept"
            assert line["tasks"]
    rules = [line for line in lines if line["text"].startswith("- ") and line["step"]]
    brought = {(line["step"], line["source"]) for line in rules}
    assert brought == {(1, "step"), (2, "step"), (2, "slow_update")}
    [compared] = trained.all(Compared)
    guided = next(line for line in lines if line["source"] == "slow_update")
    assert set(guided["tasks"]) == {pair.item for pair in compared.pairs}


def test_diff_shows_two_documents_of_the_run(trained: TrainedRun) -> None:
    whole = ask(trained, "diff", "last")
    assert whole["from"]["skill"] == SKILL
    assert whole["to"]["skill"] == trained.best().skill
    before, after = set(SKILL.splitlines()), set(trained.best().skill.splitlines())
    changed = {f"+{line}" for line in after - before} | {f"-{line}" for line in before - after}
    assert changed <= set(whole["diff"].splitlines())
    assert f"+{FROZEN.splitlines()[1]}" not in whole["diff"], "it was there before"
    step = ask(trained, "diff", "last", "--from", "1", "--to", "2")
    candidates = [gated.skill for gated in trained.gates()]
    assert [step["from"]["document"], step["to"]["document"]] == candidates
    assert ask(trained, "diff", "last", "--from", "best", "--to", "final")["same"]


def test_export_copies_the_run_with_its_hashes(trained: TrainedRun) -> None:
    exported = ask(trained, "export", "last", "taken/along", "--no-records")
    taken = trained.folder / "taken/along"
    listed = {file["path"]: file["sha256"] for file in exported["files"]}
    assert {"best_skill.md", "events.jsonl", "history.jsonl", "summary.json"} <= set(listed)
    assert not any(path.startswith("rollouts/") for path in listed)
    for path, sha256 in listed.items():
        assert sha256_hex((taken / path).read_bytes()) == sha256
        assert (taken / path).read_bytes() == (trained.run_dir() / path).read_bytes()
    assert json.loads((taken / "manifest.json").read_text())["run"] == exported["run"]
    # What was taken along is a run that can be shown.
    assert ask(trained, "blame", "taken/along") == ask(trained, "blame", "last")
    code, again = skillopt("export", "last", "taken/along", cwd=trained.folder)
    assert code == 2
    assert "not empty" in again["error"]["message"]


def test_check_explains_every_value_and_refuses_suspicious_tasks_when_strict(
    trained: TrainedRun, tmp_path: Path
) -> None:
    said = ask(
        trained, "check", "spec.yaml", "--explain", "--strict", "--set", "train.num_epochs=5"
    )
    assert said["ok"]
    assert said["lint"] == []
    explained = said["explain"]
    assert explained["train.num_epochs"]["value"] == 5
    assert "--set" in explained["train.num_epochs"]["origin"]
    assert explained["train.batch_size"]["value"] == 8
    assert explained["train.batch_size"]["origin"].startswith("spec.yaml:")
    assert explained["evaluation.early_decision"] == {"value": True, "origin": "default"}
    headings = {split: tasks(split, ("risks", "deadline") * 4) for split in ("train", "val")}
    odd = prepare(tmp_path, SETTINGS, **headings)
    code, only_warned = skillopt("check", "spec.yaml", cwd=odd.folder)
    assert code == 0
    assert only_warned["lint"]
    code, refused = skillopt("check", "spec.yaml", "--strict", cwd=odd.folder)
    assert code == 2
    assert "shape" in refused["error"]["message"]


@pytest.mark.slow
def test_aa_measures_one_document_with_samples_of_its_own_each_time(tmp_path: Path) -> None:
    rules = [f'Always include the exact text "{one}:".' for one in ("Source", "Owner", "Verdict")]
    run = prepare(
        tmp_path,
        SETTINGS | {"evaluation": {"samples": 2}},
        skill=skill_with(*rules, 'Always include a section headed "Key Risks".'),
        simulator={"sample_noise": 0.5},
    )
    measured = ask(run, "aa", "spec.yaml", "--arms", "3")
    noise = measured["noise"]
    assert measured["calls"]["target"] == measured["new_calls"] == 3 * 6 * 2
    assert measured["calls"]["optimizer"] == 0
    assert [arm["hard"] for arm in noise["arms"]] == pytest.approx(noise["means"])
    assert noise["spread"] == pytest.approx(max(noise["means"]) - min(noise["means"]))
    assert 0 < noise["flipped"] <= 1
    assert noise["standard_error"] > 0
    assert noise["comparisons"] == 6
    samples: dict[str, set[int]] = {}
    for record in run.attempts():
        samples.setdefault(record.stage, set()).add(record.sample)
    assert sorted(samples.values(), key=min) == [{0, 1}, {2, 3}, {4, 5}]
    assert until(lambda: not run.every_process(), "nothing left running", 20)
    # The first arm is what a run would measure: it is not paid again.
    again = ask(run, "eval", "spec.yaml", "--split", "val")
    assert again["calls"]["total"] == 0
    assert again["evaluated"]["score"]["hard"] == pytest.approx(noise["means"][0])

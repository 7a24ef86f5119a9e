"""A job that kills its workers dies visibly, alone, and may be tried again or done without."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FleetCommand, skillopt
from poisoned_worker import Poison

pytestmark = pytest.mark.xdist_group("e2e")

#: Of the demo's task val-02.
WORDS, TASK = "seat reservations on Sunday", "val-02"
QUICK = {"SKILLOPT_TIMING_MAX_LOST_CLAIMS": "1", "SKILLOPT_TIMING_MAX_QUARANTINE_CLAIMS": "1"}
SMALL = ("--limit", "4", "--set", "train.num_epochs=1", "--set", "train.batch_size=4")


@pytest.fixture
def poison(tmp_path: Path) -> Poison:
    return Poison(tmp_path, WORDS)


def poisoned(command, poison: Poison, *more: str, **environment: str) -> FleetCommand:
    run = command("run", *SMALL, *more, latency_s=0.02)
    run.environment = {**poison.environment, **environment}
    return run


def dead(run: FleetCommand, *arguments: str) -> dict[str, Any]:
    code, answer = skillopt("dead", *arguments, "--store", str(run.store), cwd=run.folder)
    assert code == 0, answer
    return answer


def given_up(run: FleetCommand) -> list[str]:
    lines = (run.run_dir() / "events.jsonl").read_text().splitlines()
    events = [json.loads(line)["event"] for line in lines]
    return [
        text for event in events if event["type"] == "gave_up" for text in event["jobs"].values()
    ]


def test_a_poison_job_dies_alone_and_completes_the_run_once_its_cause_is_gone(
    command, poison: Poison
) -> None:
    run = poisoned(command, poison)
    assert run.run() == 4, run.err() + run.logs()
    assert run.summary()["state"] == "paused"
    assert f"baseline / {TASK} / 0: lost: 2 claims were lost" in run.summary()["reason"]
    assert given_up(run) == [
        f"baseline / {TASK} / 0: lost: 2 claims were lost, then 3 more in quarantine"
    ], "its neighbours are unharmed"

    [letter] = dead(run, "list")["jobs"]
    assert letter["dead"] is True
    assert (letter["stage"], letter["task"], letter["sample"]) == ("baseline", TASK, 0)
    assert (letter["claims"], letter["quarantine_claims"]) == (2, 3)
    assert letter["worker"].startswith("sim")
    assert letter["run"] == run.run_dir().name
    assert dead(run, "show", letter["job"][:8])["jobs"] == [letter]

    poison.cure()
    answer = dead(run, "retry", letter["job"][:12])
    assert answer["jobs"] == 1
    assert [(one["run"], one["status"]) for one in answer["runs"]] == [(letter["run"], "running")]
    assert dead(run, "list")["jobs"] == []
    assert run.run() == 0, run.err()
    assert run.summary()["state"] == "finished"

    healthy = command("healthy", *SMALL, latency_s=0)
    assert healthy.run() == 0, healthy.err()
    assert run.decisions() == healthy.decisions()


def test_a_run_that_may_do_without_goes_on_and_says_so(command, poison: Poison) -> None:
    run = poisoned(command, poison, "--set", "evaluation.min_coverage=0.5", **QUICK)
    assert run.run() == 0, run.err() + run.logs()
    summary = run.summary()
    assert summary["state"] == "finished"
    assert summary["initial"]["val"]["coverage"] < 1
    assert all(f"/ {TASK} /" in text for text in given_up(run))
    listed = dead(run, "list", "--run", "last")["jobs"]
    assert {one["task"] for one in listed} == {TASK}


@pytest.mark.slow
def test_a_task_that_was_excluded_lets_the_run_end(command, poison: Poison) -> None:
    run = poisoned(command, poison, **QUICK)
    assert run.run() == 4, run.err() + run.logs()
    answer = dead(run, "exclude", "last", "--task", TASK)
    assert (answer["tasks"], answer["status"]) == ([TASK], "running")
    assert run.run() == 0, run.err()
    assert run.summary()["initial"]["val"]["coverage"] == 0.75
    assert any(TASK in warning for warning in run.summary()["warnings"])


def test_a_task_is_taken_out_of_a_run_that_is_under_way(command) -> None:
    run = command("run", *SMALL, latency_s=0.3).start()
    run.wait_for("measured")
    answer = dead(run, "exclude", run.run_dir().name, "--task", TASK)
    assert (answer["outcome"], answer["status"]) == ("coordinator", "running")
    assert run.wait() == 0, run.err()
    assert run.events().count("left_out") == 1
    assert any(TASK in warning for warning in run.summary()["warnings"])

"""Early decisions, comparisons and contrasts under disturbance: still the same bytes.

A gate that ends early leaves attempts half done, so this is where the order of results, lost
workers and changed coordinators would first be seen.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import until
from notes_benchmark import skill_with, tasks
from trained_run import TrainedRun, prepare

from skillopt.domain.run import RunState

pytestmark = pytest.mark.xdist_group("e2e-modes-disturbed")

SETTINGS = {
    "train": {"num_epochs": 3, "batch_size": 4, "samples": 2, "seed": 3},
    "gradient": {"minibatch_size": 2},
    "optimizer": {"learning_rate": 2, "lr_scheduler": "constant", "slow_update_samples": 5},
    "evaluation": {"samples": 2, "no_regression": ["val_6"]},
}
BENCHMARK: dict[str, Any] = {
    "skill": skill_with('Include the text "Source:".', 'Include a section headed "Key Risks".'),
    "val": tasks(
        "val",
        (
            *("verdict", "risks", "confidence", "source"),
            *("owner+deadline", "untaught", "verdict+risks", "no verdict"),
        ),
    ),
}
ERRING = {"sample_noise": 0.35, "harmful_rate": 0.25, "malformed_rate": 0.15, "vague_rate": 0.1}
#: Slow enough to be disturbed in the middle; replies overtake each other.
UNEVEN = {"latency_s": 0.06, "latency_sigma": 0.8}

Again = Callable[..., TrainedRun]


def has_everything(end: RunState) -> bool:
    """Whether a run has early decisions on steps and on guidance, contrasts and repairs."""
    steps = [gated for gated in end.gates if gated.source == "step"]
    guidance = [gated for gated in end.gates if gated.source == "slow_update"]
    groups = [group for step in end.steps if step.reflected for group in step.reflected.groups]
    return (
        sum(gated.early for gated in steps) >= 2
        and any(gated.adopted for gated in steps)
        and any(gated.early for gated in guidance)
        and any(group.kind == "contrast" for group in groups)
        and any(group.status == "repaired" for group in groups)
        and bool(end.meta_skill)
    )


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """A run by one worker that nothing happened to."""
    run = prepare(
        tmp_path_factory.mktemp("calm"),
        SETTINGS,
        simulator=ERRING,
        such_that=has_everything,
        **BENCHMARK,
    )
    assert run.run() == 0, run.err()
    return run.check()


@pytest.fixture
def again(calm: TrainedRun, tmp_path: Path) -> Iterator[Again]:
    """Make the command of the same run, with a simulator that takes its time."""
    made: list[TrainedRun] = []

    def make(*arguments: str, **simulator: Any) -> TrainedRun:
        options = {**calm.options, **UNEVEN, **simulator}
        folder = tmp_path / str(len(made))
        made.append(prepare(folder, SETTINGS, *arguments, simulator=options, **BENCHMARK))
        return made[-1]

    yield make
    for one in made:
        one.end()
    for one in made:
        until(lambda one=one: not one.every_process(), f"the end of {one.every_process()}", 30)


def assert_same(run: TrainedRun, calm: TrainedRun) -> None:
    assert run.decisions() == calm.decisions()
    assert run.log()[1:] == calm.log()[1:]
    assert run.conversations() == calm.conversations()


def early_gates(run: TrainedRun) -> int:
    """Count the early decisions that a run under way has taken."""
    try:
        text = (run.run_dir() / "events.jsonl").read_text()
    except (ValueError, OSError):
        return 0
    return text.count('"early":true')


@pytest.mark.slow
def test_three_workers_at_uneven_speed_decide_as_one(again: Again, calm: TrainedRun) -> None:
    run = again("--workers", "3")
    assert run.run() == 0, run.err()
    assert_same(run, calm)
    used = {record.receipt.worker for record in run.records() if record.receipt}
    assert len(used) == 3


@pytest.mark.slow
def test_a_worker_killed_in_a_step_and_the_coordinator_in_a_slow_update(
    again: Again, calm: TrainedRun
) -> None:
    run = again().start()
    run.wait_for("reflected", 2)
    run.kill("-m workers")
    run.wait_for("compared")
    run.kill("producer.coordinator")
    assert "meta_learned" not in run.events(), "the epoch's end was under way"
    assert run.wait() == 0, run.err()
    assert_same(run, calm)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["-m workers", "producer.coordinator", "redis"])
def test_anything_killed_right_after_an_early_decision(
    again: Again, calm: TrainedRun, victim: str
) -> None:
    """What the gate no longer needs is in flight, or wanted by a coordinator that is no more."""
    run = again("--concurrency", "2").start()
    for count in (1, 2):
        until(lambda count=count: early_gates(run) >= count, f"early decision {count}")
        if victim == "redis":
            os.kill(until(run.redis_pid, "Redis"), signal.SIGKILL)
        else:
            run.kill(victim)
    assert run.wait() == 0, run.err() + run.logs()
    assert_same(run, calm)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("concurrency", [1, 3, 16])
def test_any_number_of_workers_and_calls_in_flight_decide_alike(
    again: Again, calm: TrainedRun, workers: int, concurrency: int
) -> None:
    run = again(
        *("--workers", str(workers), "--concurrency", str(concurrency)),
        latency_s=0.02,
        latency_sigma=1.2,
        error_rate=0.05,
    )
    assert run.run() == 0, run.err()
    assert_same(run, calm)


@pytest.mark.slow
def test_an_outage_in_a_slow_update_changes_nothing(again: Again, calm: TrainedRun) -> None:
    run = again().start()
    run.wait_for("compared")
    run.simulator("/control", {"outage_s": 4, "outage_kind": "refuse"})
    assert run.wait() == 0, run.err()
    assert_same(run, calm)


@pytest.mark.slow
def test_stopped_after_an_early_decision_and_given_again(again: Again, calm: TrainedRun) -> None:
    run = again().start()
    until(lambda: early_gates(run) >= 1, "an early decision")
    assert run.process is not None
    os.kill(run.process.pid, signal.SIGINT)
    assert run.wait() == 130
    assert run.every_process() == []
    assert run.run() == 0, run.err()
    assert run.decisions() == calm.decisions()
    decided = [event for event in run.log()[1:] if event.type != "resumed"]
    assert decided == calm.log()[1:]

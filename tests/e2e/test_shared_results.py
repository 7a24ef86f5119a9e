"""Runs that want the same results at the same time pay for them once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FAST, skillopt, until

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import Address, running

pytestmark = pytest.mark.xdist_group("e2e-shared-results")

TASKS = 500
SOME = 20


@pytest.fixture
def simulator() -> Iterator[Address]:
    with running(SimulatorOptions(latency_s=0.05)) as address:
        yield address


def calls(simulator: Address) -> int:
    stats = f"{simulator.base_url.removesuffix('/v1')}/stats"
    with urllib.request.urlopen(stats, timeout=10) as answer:
        return int(json.load(answer)["calls"]["total"])


Start = Callable[..., "Evaluation"]


class Evaluation:
    """One `skillopt eval`, in a folder and store of its own."""

    def __init__(self, folder: Path, redis: str, simulator: Address, *arguments: str) -> None:
        folder.mkdir()
        rows = [
            {"id": f"t-{number}", "task": f"Summarise meeting {number}.", "answers": ["x"]}
            for number in range(TASKS)
        ]
        (folder / "tasks").mkdir()
        for split, chosen in (("train", rows[:1]), ("val", rows[1:2]), ("test", rows)):
            unique = [{**row, "id": f"{split}-{row['id']}"} for row in chosen]
            if split != "test":
                unique = [{**row, "task": f"{split} {row['task']}"} for row in unique]
            (folder / "tasks" / f"{split}.jsonl").write_text("\n".join(map(json.dumps, unique)))
        (folder / "SKILL.md").write_text("# Minutes\n\nSummarise the meeting.\n")
        (folder / "spec.yaml").write_text(
            f"name: {folder.name}\nskill: SKILL.md\ntasks: tasks\n"
            "judge: {kind: answer}\nmodel: {target: sim}\nbackends: {sim: {kind: simulated, "
            f"base_url: '{simulator.base_url}', limits: {{concurrency: 64}}}}}}\n"
        )
        self.folder = folder
        self.arguments = ["eval", "spec.yaml", "--redis", redis, *arguments]
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Evaluation:
        with (self.folder / "out").open("wb") as out, (self.folder / "err").open("wb") as err:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "producer.cli", *self.arguments, "--json"],
                cwd=self.folder,
                env={**os.environ, **FAST},
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        return self

    def end(self) -> int:
        assert self.process is not None
        return self.process.wait(timeout=100)

    def result(self) -> dict[str, Any]:
        text = (self.folder / "out").read_text()
        assert text, (self.folder / "err").read_text()
        return json.loads(text)


@pytest.fixture
def evaluation(tmp_path: Path, redis_url: str, simulator: Address) -> Iterator[Start]:
    made: list[Evaluation] = []

    def make(name: str, *arguments: str) -> Evaluation:
        made.append(Evaluation(tmp_path / name, redis_url, simulator, *arguments))
        return made[-1]

    yield make
    for one in made:
        if one.process is not None and one.process.poll() is None:
            one.process.send_signal(signal.SIGINT)
            one.process.wait(timeout=60)


def test_two_runs_at_once_pay_once_and_a_third_pays_nothing(
    evaluation: Start, simulator: Address
) -> None:
    first, second = evaluation("first").start(), evaluation("second").start()
    assert (first.end(), second.end()) == (0, 0), first.result()
    assert calls(simulator) == TASKS
    paid = [one.result()["calls"]["total"] for one in (first, second)]
    reused = [one.result()["cache_hits"] for one in (first, second)]
    assert sum(paid) == TASKS
    assert reused == [TASKS - count for count in paid]
    third = evaluation("third").start()
    assert third.end() == 0
    assert third.result()["calls"]["total"] == 0
    assert third.result()["cache_hits"] == TASKS
    assert calls(simulator) == TASKS
    scores = [one.result()["evaluated"]["score"] for one in (first, second, third)]
    assert scores[0] == scores[1] == scores[2]


def test_cancelling_one_of_two_harms_nothing_of_the_other(
    evaluation: Start, simulator: Address
) -> None:
    first, second = evaluation("cancelled").start(), evaluation("spared").start()
    until(lambda: calls(simulator) >= TASKS // 5, "a fifth of the calls")
    assert first.process is not None
    first.process.send_signal(signal.SIGINT)
    assert first.end() == 130
    assert second.end() == 0, second.result()
    assert second.result()["evaluated"]["score"]["n"] == TASKS
    assert second.result()["evaluated"]["score"]["coverage"] == 1.0
    assert calls(simulator) == TASKS
    # What was cancelled has nothing left to pay for.
    assert first.start().end() == 0
    assert first.result()["new_calls"] == 0
    assert calls(simulator) == TASKS


@pytest.mark.slow
def test_a_refresh_makes_its_own_calls_and_shares_with_none(
    evaluation: Start, simulator: Address, redis_url: str
) -> None:
    limit = ("--limit", str(SOME))
    shared = evaluation("shared", *limit).start()
    assert shared.end() == 0, shared.result()
    assert calls(simulator) == SOME
    for number, mode in enumerate(("refresh", "off"), start=2):
        alone = evaluation(mode, *limit, "--cache", mode).start()
        assert alone.end() == 0
        assert alone.result()["calls"]["total"] == SOME
        assert alone.result()["cache_hits"] == 0
        assert calls(simulator) == number * SOME
    again = evaluation("again", *limit).start()
    assert again.end() == 0
    assert again.result()["calls"]["total"] == 0
    code, explained = skillopt("cache", "explain", "last", "--redis", redis_url, cwd=again.folder)
    assert code == 0
    verdicts = [(one["verdict"], one["payer"]) for one in explained["attempts"]]
    assert verdicts == [("reused", shared.result()["run"])] * SOME

"""`producer.optimize` with real processes: from a script, a thread, and beside a running loop."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FAST, FleetCommand

import producer
from producer.interruption import Interrupted
from producer.run_folder import RunFolder
from producer.view.live import Snapshot
from skillopt.domain.events import Event, decode_event

pytestmark = pytest.mark.xdist_group("e2e-python")

EXAMPLE = Path(__file__).parents[2] / "examples" / "optimize.py"
SKILL = "# Minutes\n\nSummarise the meeting.\n"


def meetings(committee: str, count: int) -> list[dict[str, Any]]:
    task = "Summarise meeting {} of the {} committee."
    return [
        {"id": f"{committee}-{n}", "task": task.format(n, committee), "gold": "Owner:"}
        for n in range(count)
    ]


class Judge:
    """Looks for what the record says; `repaired` is what a person does after a bug was found."""

    repaired = True

    def __call__(self, task: dict[str, Any], reply: str) -> producer.Score:
        gold = task["gold" if self.repaired else "golden"]
        return producer.Score.of({f'the answer contains "{gold}"': gold in reply})


def optimize(folder: Path, **more: Any) -> producer.RunResult:
    given = {
        "skill": SKILL,
        "train": meetings("harbour", 4),
        "val": meetings("budget", 3),
        "model": "sim",
        "judge": Judge(),
        "judge_version": "1",
        "settings": {"train": {"num_epochs": 1}},
        "store": folder / ".skillopt",
    } | more
    return producer.optimize(**given)


def mirrored(result: producer.RunResult) -> list[Event]:
    return [decode_event(entry.event) for entry in RunFolder(result.run_dir).read_entries()]


@pytest.fixture(autouse=True)
def soon_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIM_URL", "")
    for name, value in {**FAST, "SKILLOPT_TIMING_MAX_INFRA_ROUNDS": "2"}.items():
        monkeypatch.setenv(name, value)


def test_the_example_learns_and_given_again_makes_no_call(tmp_path: Path) -> None:
    """A plain script: no guard around its code, nothing printed but what it prints itself."""

    def run() -> str:
        done = subprocess.run(
            [sys.executable, EXAMPLE],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    first = run()
    assert FleetCommand(tmp_path).every_process() == []
    assert "test: 0.0 -> 1.0" in first
    assert "Owner:" in first
    told = re.findall(r"^· (\w+)$", first, re.MULTILINE)
    assert told == FleetCommand(tmp_path).events()
    calls = re.search(r"^(\d+) calls; .* in (.*)$", first, re.MULTILINE)
    assert calls is not None
    assert int(calls[1]) > 0
    assert Path(calls[2]).is_relative_to(tmp_path.resolve())
    assert run() == first.replace(calls[0], calls[0].replace(f"{calls[1]} calls", "0 calls"))


def test_a_judge_that_raises_pauses_the_run_and_a_repaired_one_continues_it(tmp_path: Path) -> None:
    """From a thread that is not the main one."""
    results: list[producer.RunResult] = []
    told: list[Event] = []
    shown: list[Snapshot] = []
    judge = Judge()
    judge.repaired = False

    def work() -> None:
        more = {"judge": judge, "on_event": told.append, "on_progress": shown.append}
        results.append(optimize(tmp_path, **more))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    [paused] = results
    assert paused.state == "paused"
    assert "KeyError: 'golden'" in paused.reason
    assert paused.initial.val is None, "no score, not a zero"
    assert told == mirrored(paused) == list(paused.events)
    assert shown
    assert all(snapshot.state.run == paused.summary.run for snapshot in shown)
    with pytest.raises(producer.RunPaused, match="golden"):
        paused.raise_if_paused()

    judge.repaired, before = True, len(told)
    told.clear()
    done = optimize(tmp_path, judge=judge, on_event=told.append)
    assert (done.state, done.accepted) == ("finished", True)
    assert done.best.val is not None
    assert done.best.val.hard == 1.0
    assert "Owner:" in done.skill
    assert told == mirrored(done) == list(done.events)
    assert told[:before] == list(paused.events)
    # What was answered before the pause is judged now, not answered again.
    assert paused.summary.calls.target == 3
    assert done.summary.calls.target == 3 + 4 + 3
    assert FleetCommand(tmp_path).every_process() == []


class Stop(Exception):
    """What a person's callback raises."""


def test_whatever_ends_a_call_leaves_nothing_running(tmp_path: Path) -> None:
    """Beside a running event loop, as in a notebook."""
    processes = FleetCommand(tmp_path).every_process
    alive: list[int] = []

    def fail(event: Event) -> None:
        if event.type == "measured":
            alive.extend(processes())
            raise Stop(event.type)

    def interrupt(snapshot: Snapshot) -> None:
        if snapshot.state.steps:
            signal.raise_signal(signal.SIGINT)

    async def notebook() -> producer.RunResult:
        with pytest.raises(Stop, match="measured"):
            optimize(tmp_path, on_event=fail)
        assert len(alive) > 4, "Redis, simulator, coordinator, worker and their guards"
        assert processes() == []
        with pytest.raises(Interrupted):
            optimize(tmp_path, on_progress=interrupt)
        assert processes() == []
        return optimize(tmp_path)

    before = signal.getsignal(signal.SIGINT)
    result = asyncio.run(notebook())
    assert signal.getsignal(signal.SIGINT) is before
    assert (result.state, result.accepted) == ("finished", True)
    assert [event.type for event in result.events].count("resumed") == 2
    assert processes() == []

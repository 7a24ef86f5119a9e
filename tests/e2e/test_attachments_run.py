"""Runs whose tasks bring files: what the target answers depends on what is in them."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fleet_command import FleetCommand, skillopt, until

from producer.embedded.redis_server import live_url
from producer.embedded.store import Store
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.timing import Timing
from skillopt.state import keys
from skillopt.state.redis.connect import connect

pytestmark = pytest.mark.xdist_group("e2e-attachments")

WORDS = ("tulip", "magnet", "harbour", "violin", "copper", "lantern", "saddle", "orchid", "anchor")
SPLITS = {"train": range(4), "val": range(4, 7), "test": range(7, 9)}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SPEC = """\
name: rooms
skill: SKILL.md
tasks: tasks
model: {target: sim, optimizer: sim}
backends: {sim: {kind: simulated, simulator: {seed: 5, latency_s: LATENCY}}}
train: {num_epochs: 2, batch_size: 2, seed: 7}
gradient: {minibatch_size: 2}
optimizer: {learning_rate: 2, lr_scheduler: constant}
"""


def record(number: int) -> dict[str, Any]:
    """Ask for the code that only the task's file says, and for a word that the skill must learn."""
    checks = [{"op": "contains", "arg": WORDS[number]}, {"op": "contains", "arg": "Owner:"}]
    return {
        "id": f"room-{number}",
        "task": f"What is the code of room {number}?",
        "judge": {"kind": "rule", "checks": checks},
        "attachments": [f"files/{number}.md", {"path": "files/plan.png", "name": "plan.png"}],
    }


def text_of(number: int) -> bytes:
    return f"# Rooms\n\nThe code of room {number} is {WORDS[number]}.\n".encode()


def write_spec(folder: Path, latency_s: float) -> None:
    (folder / "tasks" / "files").mkdir(parents=True)
    (folder / "tasks" / "files" / "plan.png").write_bytes(PIXEL)
    (folder / "SKILL.md").write_text("# Rooms\n\nAnswer the question.\n")
    (folder / "spec.yaml").write_text(SPEC.replace("LATENCY", str(latency_s)))
    for split, numbers in SPLITS.items():
        rows = [json.dumps(record(number)) for number in numbers]
        (folder / "tasks" / f"{split}.jsonl").write_text("\n".join(rows) + "\n")
        for number in numbers:
            (folder / "tasks" / "files" / f"{number}.md").write_bytes(text_of(number))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> FleetCommand:
    """A run that nothing happened to."""
    folder = tmp_path_factory.mktemp("rooms")
    write_spec(folder, 0)
    run = FleetCommand(folder)
    assert run.run() == 0, run.err() + run.logs()
    return run


@pytest.fixture
def run(tmp_path: Path) -> Iterator[FleetCommand]:
    write_spec(tmp_path, 0.15)
    command = FleetCommand(tmp_path)
    yield command
    command.end()
    until(lambda: not command.every_process(), "the end of every process", 30)


def hashes() -> list[str]:
    numbers = (number for part in SPLITS.values() for number in part)
    return [sha256_hex(PIXEL), *(sha256_hex(text_of(number)) for number in numbers)]


def test_answers_come_from_the_files_and_the_run_keeps_them(finished: FleetCommand) -> None:
    summary = finished.summary()
    assert summary["state"] == "finished"
    assert summary["initial"]["val"]["soft"] == 0.5  # every code is right, no owner is named
    assert summary["best"]["test"]["hard"] == 1.0
    kept = finished.run_dir() / "attachments"
    assert sorted(path.name for path in kept.iterdir()) == sorted(hashes())
    assert all(sha256_hex(path.read_bytes()) == path.name for path in kept.iterdir())
    plan = (finished.run_dir() / "plan.json").read_text()
    assert "The code of room" not in plan


def test_the_record_of_a_task_names_its_files_and_shows_what_was_sent(
    finished: FleetCommand,
) -> None:
    options = ("show", "last", "--store", str(finished.store), "--task", "room-4")
    code, shown = skillopt(*options, cwd=finished.folder)
    assert code == 0
    assert [(one["path"], one["media_type"]) for one in shown["attachments"]] == [
        ("files/4.md", "text/markdown"),
        ("plan.png", "image/png"),
    ]
    rollouts = [one for one in shown["records"] if one["kind"] == "rollout"]
    [image] = rollouts[0]["messages"][1]["images"]
    assert image == {"media_type": "image/png", "sha256": sha256_hex(PIXEL)}
    assert "### files/4.md\n\n```\n# Rooms" in rollouts[0]["messages"][1]["content"]


def test_an_export_takes_the_files_along(finished: FleetCommand, tmp_path: Path) -> None:
    code, exported = skillopt(
        "export", "last", str(tmp_path / "out"), "--store", str(finished.store),
        cwd=finished.folder,
    )  # fmt: skip
    assert code == 0
    paths = {file["path"] for file in exported["files"]}
    assert {f"attachments/{sha256}" for sha256 in hashes()} <= paths


@pytest.mark.slow
def test_files_lost_in_mid_run_are_stored_anew_from_the_run_folder(
    run: FleetCommand, finished: FleetCommand
) -> None:
    """All blobs are deleted, the originals are gone, and the worker that knew them is killed."""
    run.start()
    run.wait_for("step_started")
    shutil.rmtree(run.folder / "tasks" / "files")
    url = until(lambda: live_url(Store(run.store.resolve())), "the run's Redis")
    with connect(url, Timing()) as state:
        assert state.client.delete(*map(keys.blob, hashes())) == len(hashes())
        run.kill("-m workers")
        assert run.wait() == 0, run.err() + run.logs()
    assert "is not stored" in run.logs()
    assert run.decisions() == finished.decisions()

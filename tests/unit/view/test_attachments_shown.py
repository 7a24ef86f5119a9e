"""Files that come with tasks, as `check`, `plan` and `show` tell of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sample_runs import events, plan, rollout

from producer.cli import main
from producer.run_folder import RunFolder
from producer.view.call_page import call_page
from skillopt.domain.events import encode_event
from skillopt.domain.item import Attachment
from skillopt.domain.messages import Image, Message
from skillopt.state.ports import LogEntry

RULE = {"kind": "rule", "checks": [{"op": "contains", "arg": "Total:"}]}


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SKILLOPT_BACKENDS", "SIM_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))
    (tmp_path / "SKILL.md").write_text("# Sums\n")
    (tmp_path / "spec.yaml").write_text(
        "skill: SKILL.md\ntasks: tasks.jsonl\nmodel: {target: sim}\n"
    )
    return tmp_path / "spec.yaml"


def write_tasks(folder: Path, *attachments: str) -> None:
    rows = [{"id": f"t{n}", "task": f"Add page {n}.", "judge": RULE} for n in range(6)]
    files: dict[str, Any] = {"attachments": list(attachments)} if attachments else {}
    lines = [json.dumps(row | (files if row["id"] != "t0" else {})) for row in rows]
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n")


def test_check_counts_tasks_files_and_bytes(spec, capsys):
    (spec.parent / "a.txt").write_text("a" * 1_500)
    (spec.parent / "copy-of-a.txt").write_text("a" * 1_500)
    write_tasks(spec.parent, "a.txt", "copy-of-a.txt")
    assert main.run_command(["check", str(spec)]) == 0
    assert "1 file, 1,500 bytes, with 5 tasks" in capsys.readouterr().out
    assert main.run_command(["check", str(spec), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)["attachments"]
    assert shown == {"tasks": 5, "files": 1, "bytes": 1_500}


def test_check_says_nothing_of_files_that_are_not_there(spec, capsys):
    write_tasks(spec.parent)
    assert main.run_command(["check", str(spec)]) == 0
    assert "attachments" not in capsys.readouterr().out


def test_plan_names_what_it_supposes_of_a_picture(spec, capsys):
    (spec.parent / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    write_tasks(spec.parent, "a.png")
    assert main.run_command(["plan", str(spec), "--json"]) == 0
    assumptions = json.loads(capsys.readouterr().out)["assumptions"]
    assert any("a picture that comes with a task takes 1500 tokens" in one for one in assumptions)


def test_show_names_the_files_of_a_task(tmp_path, capsys):
    of = plan()
    file = Attachment(path="a.csv", sha256="1" * 64, media_type="text/csv", size=1_234)
    val = of.splits.val
    prompt = val[0].prompt.model_copy(update={"attachments": (file,)})
    first = val[0].model_copy(update={"prompt": prompt})
    splits = of.splits.model_copy(update={"val": (first, *val[1:])})
    of = of.model_copy(update={"splits": splits})
    folder = RunFolder(tmp_path / "runs" / of.run_id)
    folder.create(of, {"skill": "SKILL.md"})
    folder.mirror(
        [
            LogEntry(seq=number, at=100.0 + number, event=encode_event(event))
            for number, event in enumerate(events(of), start=1)
        ]
    )
    options = ["show", "last", "--store", str(tmp_path), "--task", first.id]
    assert main.run_command(options) == 0
    assert "attachment a.csv: 1,234 bytes, text/csv" in capsys.readouterr().out
    assert main.run_command([*options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attachments"] == [file.model_dump(mode="json")]


def test_a_call_names_the_pictures_that_were_sent():
    image = Image(media_type="image/png", sha256="ab" * 32)
    told = call_page(rollout(messages=(Message(role="user", content="?", images=(image,)),)))
    assert any("picture: image/png, abab" in str(part) for part in told)

"""Files that task records name: confined to the folder of their task file, bounded, typed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from config_workspace import Workspace, record

from skillopt.config import attachments as limits
from skillopt.config import shown_attachments
from skillopt.config.given import GivenRun, load_given
from skillopt.config.load import LoadedSpec
from skillopt.config.origins import Origin
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import Attachment, ExactJudge, Item, TaskPrompt
from skillopt.errors import TaskError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
PDF = b"%PDF-1.7\n\xff"


def load(workspace: Workspace, *attachments: Any) -> LoadedSpec:
    """Load twelve tasks, of which the first has these attachments."""
    rest = [record(number) for number in range(1, 12)]
    workspace.write_records("tasks.jsonl", [record(0, attachments=list(attachments)), *rest])
    return workspace.load()


def of_task(loaded: LoadedSpec, task: str = "t-0") -> tuple[Attachment, ...]:
    splits = loaded.plan.splits
    items = {item.id: item for item in (*splits.train, *splits.val, *splits.test)}
    return items[task].prompt.attachments


def fault(workspace: Workspace, *attachments: Any) -> str:
    with pytest.raises(TaskError) as caught:
        load(workspace, *attachments)
    return str(caught.value)


# --- what is read -------------------------------------------------------------------------------


def test_a_file_is_known_by_path_content_type_and_size(workspace: Workspace):
    path = workspace.write("data/table.csv", "a,b\n")
    loaded = load(workspace, "./data//table.csv")
    sha256 = sha256_hex(b"a,b\n")
    [only] = of_task(loaded)
    assert only == Attachment(path="data/table.csv", sha256=sha256, media_type="text/csv", size=4)
    assert loaded.attachments == {sha256: path.resolve()}
    assert "a,b" not in loaded.plan.model_dump_json()


def test_a_name_of_its_own_stands_for_the_path(workspace: Workspace):
    workspace.write("files/0001.bin", "a,b\n")
    [only] = of_task(load(workspace, {"path": "files/0001.bin", "name": "table.csv"}))
    assert (only.path, only.media_type) == ("table.csv", "text/csv")


def test_the_content_of_a_file_tells_tasks_apart(workspace: Workspace):
    workspace.write("a.txt", "one")
    before = load(workspace, "a.txt").plan
    workspace.write("a.txt", "two")
    after = load(workspace, "a.txt").plan
    assert before.run_id != after.run_id


def test_the_same_question_about_other_files_may_be_in_other_splits(workspace: Workspace):
    for number in range(12):
        workspace.write(f"{number}.txt", f"This is page {number}.")
    same = [
        record(n, task="Sum up the file.", attachments=[{"path": f"{n}.txt", "name": "page.txt"}])
        for n in range(12)
    ]
    workspace.write_records("tasks.jsonl", same)
    loaded = workspace.load()
    assert len(loaded.attachments) == 12
    assert loaded.lint == []  # no near duplicates either
    for number in range(12):
        workspace.write(f"{number}.txt", "All the same.")
    with pytest.raises(TaskError, match="same content"):
        workspace.load()


def test_paths_start_from_the_folder_of_the_task_file(workspace: Workspace):
    for split, first in (("train", 0), ("val", 10), ("test", 20)):
        workspace.write(f"tasks/{split}/page.txt", f"page of {split}")
        records = [record(first + n, attachments=["page.txt"]) for n in range(3)]
        workspace.write_records(f"tasks/{split}/all.jsonl", records)
    workspace.spec("", tasks="tasks")
    loaded = workspace.load()
    assert {path.parent.name for path in loaded.attachments.values()} == {"train", "val", "test"}


def test_a_cell_of_a_table_holds_a_json_list(workspace: Workspace):
    workspace.write("a.txt", "one")
    rows = [f't-{n},Add page {n}.,Total,"[""a.txt""]"' for n in range(12)]
    workspace.write("tasks.csv", "\n".join(["id,task,answers,attachments", *rows]))
    workspace.spec("", tasks="tasks.csv")
    assert of_task(workspace.load())[0].path == "a.txt"


def test_a_cell_that_is_no_list_is_named_with_its_line(workspace: Workspace):
    workspace.write("tasks.csv", "id,task,answers,attachments\nt-0,Add.,5,a.txt\n")
    workspace.spec("", tasks="tasks.csv")
    with pytest.raises(TaskError, match=r"tasks\.csv:2: the cell 'attachments' .* like \[\"report"):
        workspace.load()


def test_records_of_a_program_name_files_of_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("page.txt").write_text("one")
    train = [record(n, attachments=["page.txt"]) for n in range(3)]
    val = [record(10 + n) for n in range(3)]
    given = GivenRun(skill="# Sums\n\nAdd.\n", model="sim", train=train, val=val)
    loaded = load_given(given, environ={}, publish_revision=lambda backend: "published-1")
    assert loaded.attachments == {sha256_hex(b"one"): tmp_path / "page.txt"}


def test_only_what_the_plan_has_is_kept(workspace: Workspace):
    for number in range(12):
        workspace.write(f"{number}.txt", f"This is page {number}.")
    records = [record(n, attachments=[f"{n}.txt"]) for n in range(12)]
    workspace.write_records("tasks.jsonl", records)
    assert len(workspace.load(limit=1).attachments) == 3


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("/etc/hostname", "attachments[0]: '/etc/hostname' is absolute; put the file beside"),
        ("../a.txt", "attachments[0]: '../a.txt' leads out of the task file's folder; put"),
        ("x/../../a.txt", "'x/../../a.txt' leads out of the task file's folder"),
        ({"path": "a.txt", "name": "../a.txt"}, "'../a.txt' leads out of"),
        ({"path": "a.txt", "name": "/a.txt"}, "'/a.txt' is absolute"),
        ("missing.txt", "'missing.txt' does not exist in"),
        ("a.txt/b", "'a.txt/b' cannot be read: Not a directory"),
        ("", "'' is not a usable path; write it like 'folder/report.csv'"),
        (".", "'.' is not a usable path"),
        ("a\n.txt", r"'a\n.txt' is not a usable path"),
        ("a\\b.txt", r"'a\\b.txt' is not a usable path"),
        ("x" * 201, "has 201 characters; at most 200"),
        ("folder", "'folder' is a folder; name the files in it one by one"),
        (3, "attachments[0]: 3 is neither a path nor an object; write"),
        ({"path": 3}, "path: 3 is not a text; name the file"),
        ({"path": "a.txt", "name": 3}, "name: 3 is not a text"),
        ({"path": "a.txt", "file": "b"}, "'file' is not a known key; there are path, name"),
    ],
)
def test_an_entry_that_is_not_a_file_in_the_folder(workspace: Workspace, entry, message: str):
    workspace.write("a.txt", "one")
    workspace.write("folder/b.txt", "two")
    told = fault(workspace, entry)
    assert told.startswith(f"{workspace.folder / 'tasks.jsonl'}:1: task 't-0': attachments[0]: ")
    assert message in told


def test_a_single_path_is_not_a_list(workspace: Workspace):
    workspace.write_records("tasks.jsonl", [record(0, attachments="a.txt")])
    with pytest.raises(TaskError, match=r"attachments: 'a\.txt' is not a list; write \["):
        workspace.load()


def test_a_link_may_lead_elsewhere_in_the_folder_but_not_out_of_it(tmp_path):
    (tmp_path / "outside.txt").write_text("secret")
    (tmp_path / "inside").mkdir()
    workspace = Workspace(tmp_path / "inside")
    workspace.write("real/a.txt", "one")
    (workspace.folder / "good").symlink_to("real/a.txt")
    (workspace.folder / "bad").symlink_to(tmp_path / "outside.txt")
    (workspace.folder / "up").symlink_to(tmp_path)
    (workspace.folder / "loop").symlink_to("loop")
    assert [one.path for one in of_task(load(workspace, "good"))] == ["good"]
    assert "'bad' is a link that leads out of" in fault(workspace, "bad")
    assert "'up/outside.txt' is a link that leads out of" in fault(workspace, "up/outside.txt")
    assert "'loop'" in fault(workspace, "loop")


def test_a_pipe_is_refused_without_waiting_for_its_writer(workspace: Workspace):
    os.mkfifo(workspace.folder / "pipe")
    assert "'pipe' is not a regular file; save its content in one" in fault(workspace, "pipe")


def test_a_name_is_given_once_and_no_file_is_a_folder(workspace: Workspace):
    workspace.write("a.txt", "one")
    workspace.write("b.txt", "two")
    assert "attachments: 'a.txt' is given twice" in fault(workspace, "a.txt", "a.txt")
    other_case = {"path": "b.txt", "name": "A.TXT"}
    assert "'A.TXT' is given twice" in fault(workspace, "a.txt", other_case)
    below = {"path": "b.txt", "name": "a.txt/b"}
    assert "'a.txt' is a file, and the folder of 'a.txt/b'" in fault(workspace, "a.txt", below)


def test_sizes_are_bounded_by_file_task_and_run(workspace: Workspace, monkeypatch):
    workspace.write("a.txt", "a" * 60)
    workspace.write("b.txt", "b" * 60)
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 59)
    assert "'a.txt' has more than 59 bytes, the most a file may have" in fault(workspace, "a.txt")
    monkeypatch.setattr(limits, "MAX_FILE_BYTES", 60)
    monkeypatch.setattr(limits, "MAX_TASK_BYTES", 119)
    assert "attachments: 120 bytes are too many" in fault(workspace, "a.txt", "b.txt")
    monkeypatch.setattr(limits, "MAX_TASK_BYTES", 120)
    monkeypatch.setattr(limits, "MAX_RUN_BYTES", 119)
    told = fault(workspace, "a.txt", "b.txt")
    assert "attachments[1]: with 'b.txt' the files of all tasks have more than 119 bytes" in told
    monkeypatch.setattr(limits, "MAX_RUN_BYTES", 120)
    assert len(of_task(load(workspace, "a.txt", "b.txt"))) == 2


# --- what a target can be given -----------------------------------------------------------------


def test_a_file_that_a_prompt_cannot_show_is_refused_with_task_file_and_backend(
    workspace: Workspace,
):
    workspace.write("report.pdf", PDF)
    workspace.write("chart.png", PNG)
    told = fault(workspace, "chart.png", "report.pdf")
    assert told.startswith(f"{workspace.folder / 'spec.yaml'}:2: tasks: task 't-0': ")
    assert "attachment 'report.pdf' (application/pdf) is neither UTF-8 text" in told
    assert "backend 'sim' (kind 'simulated')" in told
    assert "use an agent CLI backend as target, or put the text into context" in told
    assert "chart.png" not in told


def test_the_texts_of_a_prompt_are_bounded_but_pictures_do_not_count(
    workspace: Workspace, monkeypatch
):
    workspace.write("a.txt", "a" * 60)
    workspace.write("b.txt", "b" * 60)
    workspace.write("c.png", PNG + b"\0" * 500)
    monkeypatch.setattr(shown_attachments, "MAX_SHOWN_BYTES", 120)
    assert len(of_task(load(workspace, "a.txt", "b.txt", "c.png"))) == 3
    monkeypatch.setattr(shown_attachments, "MAX_SHOWN_BYTES", 119)
    told = fault(workspace, "a.txt", "b.txt", "c.png")
    assert "its attachments hold 120 bytes of text" in told
    assert "shows at most 119" in told


def check_for_agent(name: str) -> None:
    agent = Backend(name="agent", kind="claude_cli", model="m")
    file = Attachment(path=name, sha256="0" * 64, media_type="application/pdf", size=1)
    prompt = TaskPrompt(task="?", attachments=(file,))
    item = Item(id="t", prompt=prompt, judge=ExactJudge(answer="1"))
    shown_attachments.check_attachments([item], agent, Origin("spec.yaml", 2))


def test_an_agent_takes_any_file_but_not_in_the_place_of_its_own():
    check_for_agent("reports/2026.pdf")
    for taken in ("task.md", "SKILL.md", "skill/a.pdf", "Tools/a.pdf"):
        with pytest.raises(TaskError, match="the working folder of backend 'agent'"):
            check_for_agent(taken)


def test_every_problem_of_every_task_is_told(workspace: Workspace):
    records = [record(n, attachments=[f"missing-{n}.txt"]) for n in range(3)]
    workspace.write("tasks.jsonl", "".join(json.dumps(one) + "\n" for one in records))
    with pytest.raises(TaskError) as caught:
        workspace.load()
    assert [f"missing-{n}.txt" in str(caught.value) for n in range(3)] == [True] * 3

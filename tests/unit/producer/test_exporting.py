from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from scripted_run import ScriptedRun

from producer.exporting import export_run
from producer.run_folder import RunFolder
from skillopt.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    run = ScriptedRun().finish()
    folder = RunFolder(tmp_path / "runs" / run.plan.run_id)
    folder.create(run.plan, {"skill": "SKILL.md"})
    folder.mirror(run.log())
    folder.derive(run.state)
    folder.write_records("baseline-val", [])
    return folder


def test_an_export_is_the_run_and_can_be_opened_as_one(folder, tmp_path):
    export_run(folder, tmp_path / "out", records=True)
    again = RunFolder(tmp_path / "out")
    assert again.state() == folder.state()
    assert (tmp_path / "out" / "best_skill.md").read_bytes() == (
        folder.path / "best_skill.md"
    ).read_bytes()


def test_the_manifest_names_every_file_with_its_hash(folder, tmp_path):
    exported = export_run(folder, tmp_path / "out", records=True)
    listed = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert listed["run"] == exported.run
    for file in listed["files"]:
        content = (tmp_path / "out" / file["path"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert len(content) == file["bytes"]
    copied = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*")
              if p.is_file()}  # fmt: skip
    assert copied == {file["path"] for file in listed["files"]} | {"manifest.json"}


def test_records_can_stay_behind(folder, tmp_path):
    export_run(folder, tmp_path / "out", records=False)
    assert not (tmp_path / "out" / "rollouts").exists()


def test_half_written_files_stay_behind(folder, tmp_path):
    (folder.path / ".summary.json.abc.tmp").write_text("{")
    draft = folder.path / ".best_skill.0a1b2c3d4e5f.draft"
    draft.mkdir()
    (draft / "SKILL.md").write_text("half")
    exported = export_run(folder, tmp_path / "out", records=True)
    assert not any(file.path.startswith(".") for file in exported.files)


def test_hidden_files_of_a_skill_are_exported(folder, tmp_path):
    (folder.path / "best_skill").mkdir()
    (folder.path / "best_skill" / ".settings.tmp").write_text("the skill's own")
    exported = export_run(folder, tmp_path / "out", records=True)
    assert "best_skill/.settings.tmp" in [file.path for file in exported.files]


def test_a_folder_that_holds_something_is_refused(folder, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    with pytest.raises(InputError, match=r"out' is not empty; name a new folder"):
        export_run(folder, tmp_path / "out", records=True)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]


def test_a_file_is_refused(folder, tmp_path):
    (tmp_path / "out").write_text("x")
    with pytest.raises(InputError, match="is a file; name a folder"):
        export_run(folder, tmp_path / "out", records=True)


def test_the_run_is_not_exported_into_itself(folder):
    with pytest.raises(InputError, match="own folder"):
        export_run(folder, folder.path / "out", records=True)

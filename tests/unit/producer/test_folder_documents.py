from __future__ import annotations

import os
import stat
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_run import SKILL, make_plan

from producer.folder import whole_skill
from producer.folder.documents import write_documents
from producer.folder.whole_skill import write_skill_folder
from skillopt.config.origins import Origin
from skillopt.config.skill_file import read_skill_source
from skillopt.domain.documents import Documents
from skillopt.domain.events import Compared, Proposed, RunCreated, StepStarted
from skillopt.domain.run import EpochEnd, RunState, StepState
from skillopt.domain.skill_folder import SkillFile
from skillopt.loop.fold import begin

FILES = (
    SkillFile.of("references/tables/units.md", b"kg\r\n"),
    SkillFile.of("scripts/add.sh", b"#!/bin/sh\n\xff\0", executable=True),
)


def begun(**changes) -> RunState:
    plan = make_plan(**changes)
    created = RunCreated(run="r", name="n", plan=plan.identity, skill=plan.initial_key)
    return begin(plan, created)


def with_candidate(state: RunState, documents: Documents, *, slow_update: bool = False) -> RunState:
    """Give a state in which these documents were proposed and are the best."""
    key = state.plan.key_of(documents)
    number = len(state.steps) + (not slow_update)
    proposed = Proposed(
        step=number,
        source="slow_update" if slow_update else "step",
        parent=state.current,
        skill=key,
        text=documents.skill,
        memory=documents.memory,
    )
    state = replace(state, texts={**state.texts, key: documents}, best=key, current=key)
    if slow_update:
        compared = Compared(
            epoch=1, previous=key, current=key, policy="mixed", sampled=(), pairs=()
        )
        return replace(state, epoch_ends={1: EpochEnd(compared, proposed)})
    started = StepStarted(step=number, epoch=1, skill=key, items=(), edit_budget=1)
    return replace(state, steps=(*state.steps, StepState(started, proposed=proposed)))


def contents(path: Path) -> dict[str, bytes]:
    return {
        found.relative_to(path).as_posix(): found.read_bytes()
        for found in sorted(path.rglob("*"))
        if found.is_file()
    }


def executables(path: Path) -> list[str]:
    return sorted(
        found.relative_to(path).as_posix()
        for found in path.rglob("*")
        if found.is_file() and found.stat().st_mode & stat.S_IXUSR
    )


# --- documents --------------------------------------------------------------------------------


def test_a_plain_skill_leaves_texts_only(tmp_path):
    state = with_candidate(begun(), Documents(skill="\ufeff# New\r\n"))
    write_documents(tmp_path, state)
    assert contents(tmp_path) == {
        "best_skill.md": "\ufeff# New\r\n".encode(),
        f"skills/0000-{state.plan.initial_key[:16]}.md": SKILL.encode(),
        f"skills/0001-{state.best[:16]}.md": "\ufeff# New\r\n".encode(),
    }


def test_a_slow_update_is_kept_beside_the_last_step_of_its_epoch(tmp_path):
    state = with_candidate(begun(), Documents(skill="# Step\n"))
    step = state.best
    state = with_candidate(state, Documents(skill="# Slow\n"), slow_update=True)
    write_documents(tmp_path, state)
    kept = contents(tmp_path / "skills")
    assert kept[f"0001-{step[:16]}.md"] == b"# Step\n"
    assert kept[f"0001-{state.best[:16]}.md"] == b"# Slow\n"
    assert len(kept) == 3


def test_a_memory_is_kept_in_every_state(tmp_path):
    state = with_candidate(begun(memory=""), Documents(skill=SKILL, memory="- m\n"))
    write_documents(tmp_path, state)
    first, second = f"0000-{state.plan.initial_key[:16]}.md", f"0001-{state.best[:16]}.md"
    assert contents(tmp_path / "memories") == {first: b"", second: b"- m\n"}
    assert contents(tmp_path / "skills") == {first: SKILL.encode(), second: SKILL.encode()}
    assert (tmp_path / "best_memory.md").read_bytes() == b"- m\n"


def test_a_skill_folder_is_written_back_whole(tmp_path):
    state = with_candidate(begun(files=FILES), Documents(skill="# New\n"))
    write_documents(tmp_path, state)
    assert contents(tmp_path / "best_skill") == {
        "SKILL.md": b"# New\n",
        "references/tables/units.md": b"kg\r\n",
        "scripts/add.sh": b"#!/bin/sh\n\xff\0",
    }
    assert executables(tmp_path / "best_skill") == ["scripts/add.sh"]
    assert (tmp_path / "best_skill.md").read_bytes() == b"# New\n"


def test_a_folder_with_nothing_else_is_a_folder_again(tmp_path):
    write_documents(tmp_path, begun(files=()))
    assert contents(tmp_path / "best_skill") == {"SKILL.md": SKILL.encode()}


# --- the folder -------------------------------------------------------------------------------


def test_a_folder_that_is_right_is_not_touched(tmp_path):
    folder = tmp_path / "best_skill"
    write_skill_folder(folder, "# T\n", FILES)
    for path in [folder, *folder.rglob("*")]:
        os.utime(path, (1, 1))
    write_skill_folder(folder, "# T\n", FILES)
    assert {path.stat().st_mtime for path in [folder, *folder.rglob("*")]} == {1}


def test_a_new_best_replaces_the_document_alone(tmp_path):
    folder = tmp_path / "best_skill"
    write_skill_folder(folder, "# T\n", FILES)
    kept = (folder / "scripts/add.sh").stat().st_ino
    write_skill_folder(folder, "# New\n", FILES)
    assert (folder / "SKILL.md").read_bytes() == b"# New\n"
    assert (folder / "scripts/add.sh").stat().st_ino == kept


def spoil_content(folder: Path) -> None:
    (folder / "scripts/add.sh").write_text("rm -rf /")


def spoil_mode(folder: Path) -> None:
    (folder / "scripts/add.sh").chmod(0o644)


def spoil_by_adding(folder: Path) -> None:
    (folder / "scripts/stale.sh").write_text("stale")


def spoil_by_removing(folder: Path) -> None:
    (folder / "references/tables/units.md").unlink()


def spoil_by_linking(folder: Path) -> None:
    (folder / "scripts/add.sh").unlink()
    (folder / "scripts/add.sh").symlink_to("../SKILL.md")


def spoil_the_document(folder: Path) -> None:
    (folder / "SKILL.md").unlink()
    (folder / "SKILL.md").mkdir()


def spoil_the_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_content,
        spoil_mode,
        spoil_by_adding,
        spoil_by_removing,
        spoil_by_linking,
        spoil_the_document,
        spoil_the_folder,
    ],
)
def test_a_folder_that_somebody_changed_is_built_anew(tmp_path, spoil):
    folder = tmp_path / "best_skill"
    write_skill_folder(folder, "# T\n", FILES)
    before, modes = contents(folder), executables(folder)
    spoil(folder)
    write_skill_folder(folder, "# T\n", FILES)
    assert not folder.is_symlink()
    assert (contents(folder), executables(folder)) == (before, modes)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_crash_while_building_leaves_the_old_folder_and_no_trace(tmp_path, monkeypatch):
    folder = tmp_path / "best_skill"
    write_skill_folder(folder, "# T\n", FILES)
    (folder / "stale").write_text("old")
    before = contents(tmp_path)

    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    for name in ("_write", "_put_in_place"):
        with monkeypatch.context() as patched:
            patched.setattr(whole_skill, name, full)
            with pytest.raises(OSError, match="No space left"):
                write_skill_folder(folder, "# New\n", FILES)
        assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_put_in_place_gives_way_to_the_old_one(tmp_path, monkeypatch):
    folder = tmp_path / "best_skill"
    write_skill_folder(folder, "# T\n", FILES)
    (folder / "stale").write_text("old")
    before = contents(tmp_path)
    renamed = Path.rename
    calls: list[Path] = []

    def fails_once(self: Path, target: Path) -> Path:
        calls.append(self)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        return renamed(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", fails_once)
        with pytest.raises(OSError, match="Input/output error"):
            write_skill_folder(folder, "# New\n", FILES)
    assert contents(tmp_path) == before


def test_drafts_that_a_crash_left_behind_are_removed(tmp_path):
    (tmp_path / ".best_skill.0123.draft/scripts").mkdir(parents=True)
    write_skill_folder(tmp_path / "best_skill", "# T\n", FILES)
    assert [path.name for path in tmp_path.iterdir()] == ["best_skill"]


NAMES = st.lists(st.sampled_from(["a", "b", "é", "x y"]), min_size=1, max_size=3).map("/".join)
FOLDERS = st.dictionaries(NAMES, st.tuples(st.binary(max_size=9), st.booleans()), max_size=5)


def to_files(folder: dict[str, tuple[bytes, bool]]) -> tuple[SkillFile, ...]:
    """Make files of those paths that are not folders of others."""
    folders = {parent.as_posix() for path in folder for parent in Path(path).parents}
    return tuple(
        SkillFile.of(path, content, executable=executable)
        for path, (content, executable) in sorted(folder.items())
        if path not in folders
    )


@settings(deadline=None, max_examples=25)
@given(FOLDERS, FOLDERS, st.text(min_size=1).filter(str.strip))
def test_what_is_written_is_read_as_the_same_skill(first, second, text):
    text = text.replace("\0", "").encode("utf-8", "replace").decode() + "x"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "best_skill"
        for files in (to_files(first), to_files(second)):
            write_skill_folder(folder, text, files)
            source = read_skill_source(folder, Origin("spec.yaml"))
            assert (source.text, source.files) == (text, files)

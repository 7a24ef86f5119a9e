from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.config import skill_listing
from skillopt.config.origins import Origin
from skillopt.config.skill_file import read_memory, read_skill_source, skill_warnings
from skillopt.domain.skill_folder import SkillFile
from skillopt.errors import ConfigError

WHERE = Origin("spec.yaml", 1)
FRONT = "---\nname: sums\ndescription: Adds numbers.\n---\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "sums"
    for name, content in {
        "SKILL.md": FRONT + "# Sums\n",
        "references/tables/units.md": "kg\n",
        "scripts/add.sh": "#!/bin/sh\n",
        "assets/logo.png": b"\x89PNG\r\n\x1a\n\0\xff",
        "LICENSE": "MIT\n",
        ".gitignore": "*.log\n",
    }.items():
        put(path / name, content)
    (path / "scripts/add.sh").chmod(0o755)
    return path


def put(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def paths(source) -> list[str]:
    return [file.path for file in source.files]


def refusal(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read_skill_source(path, WHERE)
    return str(caught.value)


# --- files and folders ------------------------------------------------------------------------


def test_a_file_is_read_as_it_is(tmp_path):
    put(tmp_path / "s.md", "\ufeff# T\r\n\r\n")
    source = read_skill_source(tmp_path / "s.md", WHERE)
    assert (source.path, source.text, source.files) == (
        tmp_path / "s.md",
        "\ufeff# T\r\n\r\n",
        None,
    )


def test_a_folder_is_read_whole(folder):
    source = read_skill_source(folder, WHERE)
    assert source.path == folder / "SKILL.md"
    assert source.text == FRONT + "# Sums\n"
    assert source.files == (
        SkillFile.of(".gitignore", b"*.log\n"),
        SkillFile.of("LICENSE", b"MIT\n"),
        SkillFile.of("assets/logo.png", b"\x89PNG\r\n\x1a\n\0\xff"),
        SkillFile.of("references/tables/units.md", b"kg\n"),
        SkillFile.of("scripts/add.sh", b"#!/bin/sh\n", executable=True),
    )


def test_a_folder_with_nothing_else_is_still_a_folder(tmp_path):
    put(tmp_path / "s/SKILL.md", "# T\n")
    assert read_skill_source(tmp_path / "s", WHERE).files == ()


def test_what_tools_leave_behind_is_left_out(folder):
    before = read_skill_source(folder, WHERE)
    for name in (".git/HEAD", "scripts/__pycache__/a.pyc", ".DS_Store", "references/x.md~",
                 ".add.sh.swp", ".skillopt/runs/r/plan.json", ".idea/w.xml"):  # fmt: skip
        put(folder / name, "litter")
    (folder / "empty").mkdir()
    assert read_skill_source(folder, WHERE) == before


def test_a_second_skill_file_deeper_down_is_a_file_like_any_other(folder):
    put(folder / "references/SKILL.md", "# Another\n")
    assert "references/SKILL.md" in paths(read_skill_source(folder, WHERE))


def test_a_link_inside_the_folder_is_read_as_its_file(folder):
    (folder / "COPYING").symlink_to("LICENSE")
    source = read_skill_source(folder, WHERE)
    assert SkillFile.of("COPYING", b"MIT\n") in source.files


def test_a_folder_that_is_reached_by_a_link_is_read(folder, tmp_path):
    (tmp_path / "linked").symlink_to(folder)
    assert (
        read_skill_source(tmp_path / "linked", WHERE).files
        == read_skill_source(folder, WHERE).files
    )


def test_a_link_that_leads_out_of_the_folder_is_refused(folder, tmp_path):
    put(tmp_path / "secret.txt", "secret")
    (folder / "references/notes.md").symlink_to(tmp_path / "secret.txt")
    (folder / "gone.md").symlink_to("nowhere")
    (folder / "circle").symlink_to("circle")
    (folder / "all").symlink_to(tmp_path)
    lines = refusal(folder).splitlines()
    assert len(lines) == 4
    for name in ("references/notes.md", "gone.md", "circle", "all"):
        assert f"spec.yaml:1: skill: {str(folder / name)!r} is a link that leads out of" in "".join(
            lines
        )


def test_a_skill_file_that_leads_out_of_its_folder_is_refused(tmp_path):
    put(tmp_path / "real.md", "# T\n")
    (tmp_path / "s").mkdir()
    (tmp_path / "s/SKILL.md").symlink_to("../real.md")
    assert "SKILL.md' is a link that leads out of its folder; put the file itself" in refusal(
        tmp_path / "s"
    )


def test_a_link_to_a_folder_is_refused(folder):
    (folder / "again").symlink_to("references")
    assert "again' is a link to a folder; put the files themselves there" in refusal(folder)


def test_what_is_no_regular_file_is_refused_without_waiting_for_it(folder):
    os.mkfifo(folder / "pipe")
    assert "pipe' is not a regular file; take it out of the folder" in refusal(folder)


def test_a_file_that_cannot_be_read_is_named(folder, monkeypatch):
    opened = Path.open

    def refuse(self: Path, *args, **options):
        if self.name == "LICENSE":
            raise PermissionError(13, "Permission denied")
        return opened(self, *args, **options)

    monkeypatch.setattr(Path, "open", refuse)
    assert "LICENSE' cannot be read: Permission denied; make it readable" in refusal(folder)


def test_a_name_that_is_not_utf8_is_refused(folder):
    (Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff"))).write_text("x")
    assert "is not UTF-8; rename it" in refusal(folder)


def test_too_many_files_are_refused(folder, monkeypatch):
    monkeypatch.setattr(skill_listing, "MAX_FILES", 5)
    assert len(read_skill_source(folder, WHERE).files) == 5
    put(folder / "one-more", "")
    assert refusal(folder) == (
        f"spec.yaml:1: skill: {str(folder)!r} has more than 5 files beside SKILL.md; take out "
        "what the skill does not need"
    )


def test_too_large_files_are_refused(folder):
    size = sum(len(file.content) for file in read_skill_source(folder, WHERE).files)
    put(folder / "assets/big", b"x" * (4_000_000 - size))
    read_skill_source(folder, WHERE)
    put(folder / "assets/big", b"x" * (4_000_001 - size))
    assert "has more than 4000000 bytes beside SKILL.md" in refusal(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (" \n", "is empty; write at least a sentence"),
        ("\ufeff\n", "is empty; write at least a sentence"),
        (b"a\n\xfe", "SKILL.md:2: byte 0xfe is not UTF-8"),
    ],
)
def test_a_skill_file_that_cannot_be_trained_is_refused(folder, content, message):
    put(folder / "SKILL.md", content)
    assert message in refusal(folder)


def test_a_missing_skill_and_a_folder_without_one_are_named(tmp_path):
    assert refusal(tmp_path / "gone").startswith("spec.yaml:1: skill: ")
    assert "has no SKILL.md; add it" in refusal(tmp_path)


@settings(deadline=None, max_examples=50)
@given(
    st.dictionaries(
        st.lists(st.sampled_from(["a", "b", "é", "x y"]), min_size=1, max_size=3).map("/".join),
        st.tuples(st.binary(max_size=9), st.booleans()),
        max_size=6,
    )
)
def test_any_files_are_read_back_as_they_were_written(files):
    prefixes = {str(parent) for path in files for parent in Path(path).parents}
    files = {path: kept for path, kept in files.items() if path not in prefixes}
    with tempfile.TemporaryDirectory() as name:
        put(Path(name) / "SKILL.md", "# T\n")
        for path, (content, executable) in files.items():
            put(Path(name) / path, content)
            (Path(name) / path).chmod(0o700 if executable else 0o600)
        source = read_skill_source(Path(name), WHERE)
    assert {file.path: (file.content, file.executable) for file in source.files} == files


# --- memory -----------------------------------------------------------------------------------


def test_a_memory_may_be_empty_but_not_missing(tmp_path):
    put(tmp_path / "m.md", "")
    assert read_memory(tmp_path / "m.md", WHERE) == ""
    put(tmp_path / "m.md", "\ufeff- a\r\n")
    assert read_memory(tmp_path / "m.md", WHERE) == "\ufeff- a\r\n"
    with pytest.raises(ConfigError, match=r"spec.yaml:1: memory: '.*gone' does not exist; create"):
        read_memory(tmp_path / "gone", WHERE)
    with pytest.raises(ConfigError, match="is a folder; give a memory document itself"):
        read_memory(tmp_path, WHERE)


# --- warnings ---------------------------------------------------------------------------------


def test_a_skill_by_the_standard_gives_no_warning(folder):
    assert skill_warnings(read_skill_source(folder, WHERE)) == []


def test_a_plain_file_needs_no_front_matter_and_a_folder_does(tmp_path):
    put(tmp_path / "s/SKILL.md", "# T\n")
    assert skill_warnings(read_skill_source(tmp_path / "s/SKILL.md", WHERE)) == []
    [warning] = skill_warnings(read_skill_source(tmp_path / "s", WHERE))
    assert warning.startswith(f"{tmp_path}/s/SKILL.md: has no front matter; begin it with `name`")


def test_front_matter_of_a_plain_file_is_checked_but_for_the_folder(tmp_path):
    put(tmp_path / "s.md", FRONT + "# T\n")
    assert skill_warnings(read_skill_source(tmp_path / "s.md", WHERE)) == []
    put(tmp_path / "s.md", "---\nname: Sums\n---\n# T\n")
    warnings = skill_warnings(read_skill_source(tmp_path / "s.md", WHERE))
    assert len(warnings) == 2
    assert "name: 'Sums' may have lowercase letters" in warnings[0]
    assert "description is missing" in warnings[1]


def test_a_folder_of_another_name_is_named(folder, tmp_path):
    folder.rename(tmp_path / "totals")
    [warning] = skill_warnings(read_skill_source(tmp_path / "totals", WHERE))
    assert "name: 'sums' is not the name of the skill's folder 'totals'; rename one" in warning


def test_the_present_folder_has_a_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert skill_warnings(read_skill_source(Path(), WHERE)) == []
    monkeypatch.chdir(folder / "references")
    assert skill_warnings(read_skill_source(Path(".."), WHERE)) == []


def test_markers_that_protect_nothing_are_named(tmp_path):
    put(tmp_path / "s.md", "# T\n\n<!-- FROZEN_START -->\nkeep\n<!-- frozen_end -->\n")
    warnings = skill_warnings(read_skill_source(tmp_path / "s.md", WHERE))
    assert [warning.split(" belongs")[0] for warning in warnings] == [
        f"{tmp_path}/s.md:3: '<!-- FROZEN_START -->'",
        f"{tmp_path}/s.md:5: '<!-- frozen_end -->'",
    ]


def test_files_beside_a_skill_file_that_was_named_alone_are_mentioned(folder):
    [warning] = skill_warnings(read_skill_source(folder / "SKILL.md", WHERE))
    assert "references, scripts, assets beside it is left out; name the folder" in warning


@pytest.mark.parametrize("memory", ["SKILL.md", "./SKILL.md", "link.md"])
def test_the_skill_itself_is_no_memory(workspace, memory):
    (workspace.folder / "link.md").symlink_to("SKILL.md")
    workspace.spec(f"memory: {memory}\nevolve: both\n")
    with pytest.raises(ConfigError, match=r"spec.yaml:4: memory: .* is the skill itself; name"):
        workspace.load()

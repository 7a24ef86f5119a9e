from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from skillopt.domain.fingerprint import sha256_hex, text_hash
from skillopt.domain.skill_folder import SKILL_FILE, SkillFile, manifest, read_manifest
from skillopt.errors import StateCorrupt

FILES = (
    SkillFile.of("references/a.md", b"alpha"),
    SkillFile.of("scripts/run.sh", b"#!/bin/sh\n\xff\0", executable=True),
)


def skill_hash(skill: str, files: tuple[SkillFile, ...]) -> str:
    return sha256_hex(manifest(skill, files))


def test_a_file_survives_json_with_bytes_and_executable_bit():
    for file in FILES:
        assert SkillFile.model_validate_json(file.model_dump_json()) == file
    assert FILES[1].content == b"#!/bin/sh\n\xff\0"


def test_a_manifest_names_every_file_by_its_hash():
    listed = read_manifest(manifest("# T\n", FILES))
    assert listed.text == listed.files[SKILL_FILE] == text_hash("# T\n")
    assert listed.beside == {
        "references/a.md": sha256_hex(b"alpha"),
        "scripts/run.sh": sha256_hex(b"#!/bin/sh\n\xff\0"),
    }
    assert listed.executable == ("scripts/run.sh",)


def test_the_order_of_the_files_does_not_count():
    assert skill_hash("a", FILES) == skill_hash("a", FILES[::-1])


@pytest.mark.parametrize(
    "path",
    ["", ".", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", "SKILL.md"],
)
def test_a_path_that_leads_elsewhere_is_refused(path):
    with pytest.raises(ValidationError):
        SkillFile.of(path, b"x")


def test_content_that_is_not_base64_is_refused():
    with pytest.raises(ValidationError, match="not base64"):
        SkillFile(path="a", base64="é")
    with pytest.raises(ValidationError, match="not base64"):
        SkillFile(path="a", base64="abc")


@pytest.mark.parametrize("encoded", [b"", b"[]", b'{"files": {"a": 1}}', b'{"files": {"a": "b"}}'])
def test_what_is_no_manifest_is_corrupt(encoded):
    with pytest.raises(StateCorrupt):
        read_manifest(encoded)


NAMES = st.sampled_from(["a", "b", "references/a", "scripts/a", "é"])
FOLDERS = st.dictionaries(NAMES, st.tuples(st.binary(max_size=4), st.booleans()), max_size=4)


@settings(deadline=None)
@given(FOLDERS, FOLDERS, st.text(max_size=3), st.text(max_size=3))
def test_the_hash_covers_every_file(one, other, text, other_text):
    def hashed(folder, skill):
        files = [SkillFile.of(p, c, executable=x) for p, (c, x) in folder.items()]
        return skill_hash(skill, tuple(files))

    same = one == other and text == other_text
    assert (hashed(one, text) == hashed(other, other_text)) == same
    assert hashed(dict(reversed(one.items())), text) == hashed(one, text)

"""Archives that others made bring plain files into one folder, or nothing is taken."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from pathlib import Path

import pytest

from producer.archives import ArchiveLimits, extract, pack
from skillopt.errors import InputError

LIMITS = ArchiveLimits(files=10, file_bytes=1000, total_bytes=2500)


def _archive(tmp_path: Path, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for entry, content in entries:
            opened.writestr(entry, content)
    return path


def _link(name: str, kind: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (kind | 0o777) << 16
    return entry


def _extract(archive: Path, tmp_path: Path) -> Path:
    target = tmp_path / "out"
    target.mkdir()
    extract(archive, target, LIMITS)
    return target


def test_plain_files_come_out_as_they_went_in(tmp_path: Path):
    (tmp_path / "x.md").write_bytes(b"one")
    (tmp_path / "y").write_bytes(b"\x00\xff")
    archive = tmp_path / "a.zip"
    pack(archive, [("spec.yaml", tmp_path / "x.md"), ("über/tasks.jsonl", tmp_path / "y")])
    target = tmp_path / "out"
    target.mkdir()
    assert extract(archive, target, LIMITS) == [Path("spec.yaml"), Path("über/tasks.jsonl")]
    assert (target / "spec.yaml").read_bytes() == b"one"
    assert (target / "über/tasks.jsonl").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize(
    "name",
    [
        "../x", "a/../../x", "/etc/x", "a/..", "C:/x", "c:x", "..\\x", "a\\b", "a//b", "./x",
        "a/./b", "x\ny", "x\u202ey", "x" * 201, "/".join("x" * 25), "d/" * 10 + "x" * 299,
    ],
)  # fmt: skip
def test_names_that_lead_elsewhere_or_deceive_are_refused(tmp_path: Path, name: str):
    archive = _archive(tmp_path, ("ok", b"1"), (name, b"evil"))
    with pytest.raises(InputError, match=r"the archive's file|damaged"):
        _extract(archive, tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["a.zip"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int):
    with pytest.raises(InputError, match="no plain file"):
        _extract(_archive(tmp_path, (_link("spec.yaml", kind), b"/etc/passwd")), tmp_path)


@pytest.mark.parametrize(
    "names", [("a", "a"), ("a", "A"), ("a/b", "A/B"), ("a", "a/b"), ("é", "e\u0301")]
)
def test_two_files_for_one_place_are_refused(tmp_path: Path, names: tuple[str, str]):
    with pytest.warns(UserWarning) if names[0] == names[1] else _nothing():
        archive = _archive(tmp_path, *((name, b"1") for name in names))
    with pytest.raises(InputError, match=r"twice|folder of"):
        _extract(archive, tmp_path)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_a_bomb_is_stopped_by_what_comes_out(tmp_path: Path):
    with pytest.raises(InputError, match="more than 1000 bytes"):
        _extract(_archive(tmp_path, ("bomb", b"\0" * 10_000_000)), tmp_path)


def test_many_files_are_bounded_together(tmp_path: Path):
    entries = [(f"f{number}", b"x" * 900) for number in range(3)]
    with pytest.raises(InputError, match="more than 2500 bytes together"):
        _extract(_archive(tmp_path, *entries), tmp_path)


def test_too_many_files_are_refused_before_the_directory_is_read(tmp_path: Path):
    archive = _archive(tmp_path, *((f"f{number}", b"") for number in range(11)))
    with pytest.raises(InputError, match="has 11 files; at most 10"):
        _extract(archive, tmp_path)


def test_a_directory_that_hides_its_size_is_refused(tmp_path: Path):
    archive = _archive(tmp_path, *((f"{'n' * 150}{number}", b"") for number in range(60)))
    content = bytearray(archive.read_bytes())
    struct.pack_into("<HH", content, len(content) - 14, 1, 1)  # it says that it has one entry
    archive.write_bytes(content)
    with pytest.raises(InputError, match="files; at most"):
        _extract(archive, tmp_path)


def test_a_file_that_lies_about_its_size_is_refused(tmp_path: Path):
    content = bytearray(_archive(tmp_path, ("f", b"x" * 900)).read_bytes())
    central = content.index(b"PK\x01\x02")
    struct.pack_into("<L", content, central + 24, 10)
    archive = tmp_path / "lie.zip"
    archive.write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        _extract(archive, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + b"\xff" * 18])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes):
    archive = tmp_path / "a.zip"
    archive.write_bytes(content)
    with pytest.raises(InputError):
        _extract(archive, tmp_path)


def test_a_rare_packing_and_a_comment_are_refused(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "lzma.zip", "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("f", b"x" * 100)
    with pytest.raises(InputError, match="rare way"):
        _extract(tmp_path / "lzma.zip", tmp_path)
    with zipfile.ZipFile(tmp_path / "said.zip", "w") as opened:
        opened.writestr("f", b"x")
        opened.comment = b"hello"
    with pytest.raises(InputError, match="with a comment"):
        extract(tmp_path / "said.zip", tmp_path / "out", LIMITS)


def test_an_encrypted_file_is_refused(tmp_path: Path):
    buffer = io.BytesIO(_archive(tmp_path, ("f", b"x")).read_bytes())
    content = bytearray(buffer.getvalue())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "e.zip").write_bytes(content)
    with pytest.raises(InputError, match="encrypted"):
        _extract(tmp_path / "e.zip", tmp_path)

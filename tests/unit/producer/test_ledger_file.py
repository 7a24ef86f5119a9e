"""The results of a run in a file: appended safely, read back whole, damage named."""

from __future__ import annotations

from pathlib import Path

import pytest
import zstandard

from producer.folder.ledger import KeptResult, LedgerFile
from skillopt.errors import StateCorrupt


def row(job: str, text: str = "a reply") -> KeptResult:
    return KeptResult(job=job, line='{"x":1}', body=text, receipt="{}", sent="[]")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl.zst"


def written(path: Path, *parts: list[KeptResult]) -> LedgerFile:
    file = LedgerFile(path)
    for part in parts:
        file.append(part)
    file.sync()
    return file


def test_results_come_back_as_they_were_and_the_later_line_counts(path: Path):
    odd = row("k", "ü\u2028\x85 line\nbreaks")
    written(path, [row("j"), odd], [KeptResult(job="l", line="{}")], [row("j", "again")])
    assert LedgerFile(path).read() == {
        "j": row("j", "again"),
        "k": odd,
        "l": KeptResult(job="l", line="{}"),
    }


def test_no_file_is_no_results(path: Path):
    assert LedgerFile(path).read() == {}
    LedgerFile(path).sync()


def test_any_zstd_can_read_it(path: Path):
    written(path, [row("j")], [row("k")])
    reader = zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True)
    assert len(reader.read().splitlines()) == 2


def test_a_torn_end_is_ignored_wherever_it_tears_and_written_over(path: Path):
    written(path, [row("j")])
    first = path.stat().st_size
    written(path, [row("k")])
    whole = path.read_bytes()
    for size in range(first, len(whole)):
        path.write_bytes(whole[:size])
        assert list(LedgerFile(path).read()) == ["j"]
        LedgerFile(path).append([row("l")])
        assert list(LedgerFile(path).read()) == ["j", "l"]


def test_a_writer_sees_that_another_one_was_there(path: Path):
    first = written(path, [row("j")])
    written(path, [row("k")])
    first.append([row("l")])
    assert list(LedgerFile(path).read()) == ["j", "k", "l"]


def test_damage_is_a_typed_error_that_names_the_file_and_the_place(path: Path):
    written(path, [row("j")], [row("k")])
    whole = path.read_bytes()
    path.write_bytes(b"x" + whole[1:])
    with pytest.raises(StateCorrupt, match=r"ledger\.jsonl\.zst.*no part begins at byte 0"):
        LedgerFile(path).read()
    with pytest.raises(StateCorrupt, match="no part begins"):
        LedgerFile(path).append([row("l")])
    path.write_bytes(whole[:30] + bytes([whole[30] ^ 255]) + whole[31:])
    with pytest.raises(StateCorrupt, match="part at byte 0 cannot be unpacked"):
        LedgerFile(path).read()


def test_a_line_that_is_no_result_is_named(path: Path):
    written(path, [row("j")])
    part = zstandard.ZstdCompressor().compress(b'{"job":"k"}\n')
    head = path.read_bytes()[:8]
    with path.open("ab") as stream:
        stream.write(head + len(part).to_bytes(4, "little") + part)
    with pytest.raises(StateCorrupt, match="line 2 is not a result"):
        LedgerFile(path).read()

"""ledger.jsonl.zst: every result that a run goes by, as it saw it first, whole.

With plan and log this is all that is needed to put a run back after its Redis was lost: nothing
in it is paid for again. Results are appended as they come, in parts; a part is a zstd frame after
a skippable frame with its length, so that any zstd reads the file. A crash in mid-write leaves a
torn last part: readers ignore it, and the next append cuts it off.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import zstandard
from pydantic import BaseModel, ConfigDict, ValidationError

from producer.folder.durable import sync_folder
from skillopt.errors import StateCorrupt

NAME: Final = "ledger.jsonl.zst"

_SKIPPABLE: Final = 0x184D2A50.to_bytes(4, "little") + (4).to_bytes(4, "little")
_HEADER_BYTES: Final = len(_SKIPPABLE) + 4


class KeptResult(BaseModel):
    """One line of a run's ledger, with the result it pins as far as that was still stored."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: str
    line: str
    body: str | None = None
    receipt: str | None = None
    #: The conversation that the body names, as it is stored.
    sent: str | None = None


class LedgerFile:
    """The results of one run in a file. Of two lines for one job, the later one counts."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Size of the file when it was last seen whole.
        self._seen: int | None = None

    def read(self) -> dict[str, KeptResult]:
        """Read every whole result; none if there is no file. Raises StateCorrupt on damage."""
        try:
            content = self._path.read_bytes()
        except FileNotFoundError:
            return {}
        rows: dict[str, KeptResult] = {}
        number = 0
        for part in self._parts(content):
            for line in part.splitlines():
                number += 1
                kept = self._decode(line, number)
                rows[kept.job] = kept
        return rows

    def append(self, results: Sequence[KeptResult]) -> None:
        """Add results as one part. It is safe from a crash of this process at once, and from one
        of the machine after `sync`.
        """
        encoded = "".join(f"{one.model_dump_json(exclude_none=True)}\n" for one in results)
        part = zstandard.ZstdCompressor(write_checksum=True).compress(encoded.encode())
        created = not self._path.exists()
        with self._path.open("a+b") as stream:
            # A coordinator that lost its lead may still be writing.
            fcntl.flock(stream, fcntl.LOCK_EX)
            whole = self._cut(stream)
            stream.write(_SKIPPABLE + len(part).to_bytes(4, "little") + part)
            stream.flush()
            self._seen = whole + _HEADER_BYTES + len(part)
        if created:
            sync_folder(self._path.parent)

    def sync(self) -> None:
        """Make all that was appended durable."""
        try:
            handle = os.open(self._path, os.O_RDONLY)
        except FileNotFoundError:
            return
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def _cut(self, stream: BinaryIO) -> int:
        """Cut a torn last part off; gives the size of what is whole."""
        size = os.fstat(stream.fileno()).st_size
        if size == self._seen:
            return size
        stream.seek(0)
        whole = _whole_size(stream.read(), self._path)
        if whole < size:
            stream.truncate(whole)
        return whole

    def _parts(self, content: bytes) -> Iterator[bytes]:
        whole, at = _whole_size(content, self._path), 0
        while at < whole:
            end = at + _HEADER_BYTES + _length(content, at)
            try:
                yield zstandard.ZstdDecompressor().decompress(content[at + _HEADER_BYTES : end])
            except zstandard.ZstdError as error:
                raise _damaged(self._path, f"the part at byte {at} cannot be unpacked") from error
            at = end

    def _decode(self, line: bytes, number: int) -> KeptResult:
        try:
            return KeptResult.model_validate_json(line)
        except ValidationError as error:
            raise _damaged(self._path, f"line {number} is not a result of a run") from error


def _whole_size(content: bytes, path: Path) -> int:
    """Give the bytes of the whole parts; raises StateCorrupt where no part can begin."""
    at = 0
    while at + _HEADER_BYTES <= len(content):
        if content[at : at + len(_SKIPPABLE)] != _SKIPPABLE:
            raise _damaged(path, f"no part begins at byte {at}")
        end = at + _HEADER_BYTES + _length(content, at)
        if end > len(content):
            break  # torn: the writer died before it was whole
        at = end
    return at


def _length(content: bytes, at: int) -> int:
    start = at + len(_SKIPPABLE)
    return int.from_bytes(content[start : start + 4], "little")


def _damaged(path: Path, what: str) -> StateCorrupt:
    return StateCorrupt(
        f"{str(path)!r} is damaged: {what}; move it away, and what it held is paid for again "
        "where it is needed"
    )

"""Zip archives that others made: opened with suspicion, unpacked into a folder of our own.

An archive may lie about its sizes, name files outside its folder, or hold links. Only plain files
with plain names come out, and never more than the limits.
"""

from __future__ import annotations

import stat
import struct
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

from skillopt.errors import InputError

_CHUNK: Final = 1 << 16
_END: Final = struct.Struct("<4s4H2LH")
_END_SIGN, _ZIP64_SIGN = b"PK\x05\x06", b"PK\x06\x07"
_ZIP64_LOCATOR_BYTES: Final = 20
#: Of a name of the greatest length, with what the directory says beside it.
_MOST_ENTRY_BYTES: Final = 700
_LONGEST_NAME: Final = 300
_LONGEST_PART: Final = 200
_DEEPEST: Final = 20
_METHODS: Final = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
_ENCRYPTED: Final = 0x1


@dataclass(frozen=True)
class ArchiveLimits:
    """The most that may come out of one archive."""

    files: int
    file_bytes: int
    total_bytes: int


def extract(archive: Path, destination: Path, limits: ArchiveLimits) -> list[Path]:
    """Unpack an archive into an empty folder; gives the paths in it.

    Raises InputError, and may leave some of the files, if it holds anything but plain files within
    the limits.
    """
    _check_directory(archive, limits)
    try:
        with zipfile.ZipFile(archive) as opened:
            entries = [entry for entry in opened.infolist() if not entry.is_dir()]
            if len(entries) > limits.files:
                raise InputError(_too_many_files(len(entries), limits))
            paths = [_checked_path(entry) for entry in entries]
            _refuse_clashes(paths)
            left = limits.total_bytes
            for entry, path in zip(entries, paths, strict=True):
                with opened.open(entry) as stream:
                    left -= _write(stream, destination / path, path, limits, left)
            return [Path(path) for path in paths]
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError) as error:
        raise InputError(f"the archive is damaged: {error}; make it anew") from error


def pack(archive: Path, files: Iterable[tuple[str, Path]]) -> None:
    """Write files into a new archive under the given names; no time of theirs goes with them."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as opened:
        for name, path in files:
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            with path.open("rb") as source, opened.open(entry, "w") as target:
                while chunk := source.read(_CHUNK):
                    target.write(chunk)


def _check_directory(archive: Path, limits: ArchiveLimits) -> None:
    """Bound the directory before anything reads it whole: it may be most of the archive."""
    size = archive.stat().st_size
    with archive.open("rb") as stream:
        stream.seek(max(0, size - _END.size - _ZIP64_LOCATOR_BYTES))
        tail = stream.read()
    end = tail[-_END.size :]
    if len(end) < _END.size or not end.startswith(_END_SIGN):
        raise InputError(
            "the body is not a zip archive, or one with a comment; send a plain zip archive"
        )
    if tail.startswith(_ZIP64_SIGN):
        raise InputError("the archive is in the zip64 form; send a plain zip archive")
    _, _, _, _, count, directory_bytes, _, _ = _END.unpack(end)
    if count > limits.files or directory_bytes > limits.files * _MOST_ENTRY_BYTES:
        raise InputError(_too_many_files(count, limits))


def _too_many_files(count: int, limits: ArchiveLimits) -> str:
    return f"the archive has {count} files; at most {limits.files} are taken, so send fewer"


def _checked_path(entry: zipfile.ZipInfo) -> str:
    """Give an entry's name if it is a plain file inside the archive's folder."""
    name, kind = entry.filename, stat.S_IFMT(entry.external_attr >> 16)
    shown = repr(name[:_LONGEST_NAME])
    parts = PurePosixPath(name).parts
    fault = None
    if kind not in (0, stat.S_IFREG):
        fault = "is a link or no plain file; send the file itself"
    elif entry.flag_bits & _ENCRYPTED or entry.compress_type not in _METHODS:
        fault = "is encrypted or packed in a rare way; send a plain zip archive"
    elif name.startswith("/") or ".." in parts or (name[1:2] == ":" and name[:1].isalpha()):
        fault = "leads out of the archive; name files from its top"
    elif not parts or "\\" in name or not name.isprintable() or "/".join(parts) != name:
        fault = "is not a plain path; write it like 'folder/file.md'"
    elif (
        len(name) > _LONGEST_NAME
        or len(parts) > _DEEPEST
        or max(map(_bytes, parts)) > _LONGEST_PART
    ):
        fault = "is too long or lies too deep; give it a shorter path"
    if fault is not None:
        raise InputError(f"the archive's file {shown} {fault}")
    return name


def _bytes(part: str) -> int:
    return len(part.encode())


def _refuse_clashes(paths: list[str]) -> None:
    """Refuse names that are one file, or file and folder, on some file system."""
    seen = {_folded(path): path for path in paths}
    if len(seen) < len(paths):
        twice = next(path for path in paths if seen[_folded(path)] != path or paths.count(path) > 1)
        raise InputError(f"the archive has {twice!r} twice (case does not count); keep one of them")
    for path in paths:
        for parent in PurePosixPath(path).parents:
            if _folded(str(parent)) in seen:
                raise InputError(
                    f"the archive's {seen[_folded(str(parent))]!r} is a file, and the folder of "
                    f"{path!r}; rename one of the two"
                )


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _write(stream: IO[bytes], target: Path, name: str, limits: ArchiveLimits, left: int) -> int:
    """Write what really comes out, whatever the archive says of its size; gives the bytes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as file:
        while chunk := stream.read(_CHUNK):
            written += len(chunk)
            if written > limits.file_bytes:
                raise InputError(
                    f"the archive's file {name!r} has more than {limits.file_bytes} bytes, the "
                    "most a file may have; send a smaller one"
                )
            if written > left:
                raise InputError(
                    f"the archive's files have more than {limits.total_bytes} bytes together; "
                    "send fewer or smaller ones"
                )
            file.write(chunk)
    return written

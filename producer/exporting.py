"""Copies a run's folder, whole files only, with a list of their hashes."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from producer.folder.durable import write_durably
from producer.run_folder import RunFolder
from skillopt.domain.fingerprint import sha256_hex
from skillopt.errors import InputError

MANIFEST = "manifest.json"
_RECORDS = "rollouts"
#: What is being written, or was when its writer died: a file, or a whole skill folder.
_DRAFT = re.compile(r"\..+\.[0-9a-f]+\.(tmp|draft)")


class _Block(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ExportedFile(_Block):
    path: str
    bytes: int
    sha256: str


class Exported(_Block):
    run: str
    folder: str
    files: tuple[ExportedFile, ...]


def export_run(folder: RunFolder, destination: Path, *, records: bool) -> Exported:
    """Copy a run into a new or empty folder. Raises InputError if it is neither."""
    state = folder.state()
    if destination.resolve().is_relative_to(folder.path.resolve()):
        raise InputError(
            f"{str(destination)!r} lies in the run's own folder; name a folder elsewhere"
        )
    require_room(destination)
    copied = [_copy(folder.path, destination, path) for path in _files(folder.path, records)]
    exported = Exported(run=state.run, folder=str(destination.resolve()), files=tuple(copied))
    listed = exported.model_copy(update={"folder": "."}).model_dump_json(indent=1)
    write_durably(destination / MANIFEST, listed.encode() + b"\n")
    return exported


def require_room(destination: Path) -> None:
    """Make a folder, or find it empty; raises InputError."""
    if destination.exists() and not destination.is_dir():
        raise InputError(f"{str(destination)!r} is a file; name a folder")
    if destination.is_dir() and any(destination.iterdir()):
        raise InputError(f"{str(destination)!r} is not empty; name a new folder")
    try:
        destination.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{str(destination)!r} cannot be made: {error.strerror}; name another folder"
        ) from error


def _files(source: Path, records: bool) -> Iterator[Path]:
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        is_draft = any(map(_DRAFT.fullmatch, inside.parts))
        is_record = inside.parts[0] == _RECORDS
        if path.is_file() and not is_draft and (records or not is_record):
            yield inside


def _copy(source: Path, destination: Path, inside: Path) -> ExportedFile:
    target = destination / inside
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source / inside, target)
    content = target.read_bytes()
    return ExportedFile(path=inside.as_posix(), bytes=len(content), sha256=sha256_hex(content))

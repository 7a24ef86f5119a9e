"""A skill folder on disk, whole at any time.

Only SKILL.md differs between two states of a skill, and a file is replaced in one go. So the
folder is built once, beside its place, and later only that file is written. One that somebody
changed is built anew.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from producer.folder.durable import sync_folder, write_durably
from skillopt.domain.skill_folder import SKILL_FILE, SkillFile


def write_skill_folder(path: Path, skill: str, files: Sequence[SkillFile]) -> None:
    """Make a folder hold exactly SKILL.md with this text and these files beside it.

    A crash leaves the old folder or the new one. Only where a changed folder is replaced can it
    leave none; the next call puts it right.
    """
    if _holds(path, files):
        write_durably(path / SKILL_FILE, skill.encode())
        return
    for leftover in path.parent.glob(f".{path.name}.*.draft"):
        _remove(leftover)
    draft = _beside(path)
    try:
        _build(draft, skill, files)
        _put_in_place(draft, path)
    finally:
        _remove(draft)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.draft")


def _put_in_place(draft: Path, path: Path) -> None:
    if not path.exists() and not path.is_symlink():
        draft.rename(path)
        sync_folder(path.parent)
        return
    old = _beside(path)
    path.rename(old)
    try:
        draft.rename(path)
    except BaseException:
        old.rename(path)
        raise
    sync_folder(path.parent)
    _remove(old)


def _build(folder: Path, skill: str, files: Sequence[SkillFile]) -> None:
    folder.mkdir(parents=True)
    _write(folder / SKILL_FILE, skill.encode(), executable=False)
    for file in files:
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        _write(path, file.content, executable=file.executable)
    for here, _, _ in os.walk(folder):
        sync_folder(Path(here))


def _write(path: Path, content: bytes, *, executable: bool) -> None:
    with path.open("xb") as stream:
        stream.write(content)
        if executable:
            # Whoever may read it may run it.
            mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
            os.fchmod(stream.fileno(), mode | (mode & 0o444) >> 2)
        stream.flush()
        os.fsync(stream.fileno())


def _holds(path: Path, files: Sequence[SkillFile]) -> bool:
    """Whether a folder has these files and, SKILL.md apart, nothing else."""
    if path.is_symlink() or not path.is_dir():
        return False
    paths = [PurePosixPath(file.path) for file in files]
    folders = {parent for one in paths for parent in one.parents} - {PurePosixPath()}
    found = {PurePosixPath(entry.relative_to(path).as_posix()) for entry in path.rglob("*")}
    if found != {PurePosixPath(SKILL_FILE), *paths, *folders} or not _is_plain(path / SKILL_FILE):
        return False
    return all(_is(path / file.path, file) for file in files)


def _is(path: Path, file: SkillFile) -> bool:
    if not _is_plain(path) or path.read_bytes() != file.content:
        return False
    return bool(path.stat().st_mode & stat.S_IXUSR) == file.executable


def _is_plain(path: Path) -> bool:
    return stat.S_ISREG(path.lstat().st_mode)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

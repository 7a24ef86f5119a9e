"""What lies beside SKILL.md in a skill folder, read to be kept exactly.

Left out is what tools leave behind and nobody means to ship: version control, editor and system
files, caches, and our own store. Empty folders are not kept.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skillopt.config.json_source import is_encodable
from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Origin, Problems
from skillopt.domain.skill_folder import SKILL_FILE, SkillFile
from skillopt.errors import ConfigError

MAX_FILES = 500
MAX_TOTAL_BYTES = 4_000_000
#: Folders of the layout that a document refers to.
COMPANIONS = ("references", "scripts", "assets")

_LITTER = frozenset(
    {".git", ".hg", ".svn", ".jj", ".idea", ".vscode", ".DS_Store", "Thumbs.db", "desktop.ini",
     "__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".skillopt"}
)  # fmt: skip
_LITTER_ENDINGS = (".pyc", ".swp", ".swo", "~")


def read_files(folder: Path, where: Origin) -> tuple[SkillFile, ...]:
    """Read every file of a folder but SKILL.md, in the order of their paths.

    A link to a file inside the folder is read as that file. Raises ConfigError with everything
    that cannot be kept: links that lead out of the folder or to a folder, what is no regular
    file or cannot be read, names that are not UTF-8, too many or too large files.
    """
    problems = Problems()
    files: list[SkillFile] = []
    total = 0
    for path in _walk(folder, problems, where):
        if len(files) == MAX_FILES:
            problems.add(where, _too_much(folder, f"{MAX_FILES} files"))
            break
        try:
            file = _read(path, folder, MAX_TOTAL_BYTES - total)
        except ConfigError as error:
            problems.add(where, f"skill: {error}")
            continue
        total += len(file.content)
        files.append(file)
        if total > MAX_TOTAL_BYTES:
            problems.add(where, _too_much(folder, f"{MAX_TOTAL_BYTES} bytes"))
            break
    problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
    return tuple(sorted(files, key=lambda file: file.path))


def is_inside(path: Path, folder: Path) -> bool:
    """Whether what a path leads to, links followed, lies in a folder; False if it is broken."""
    try:
        return path.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return False


def _too_much(folder: Path, what: str) -> str:
    return (
        f"skill: {str(folder)!r} has more than {what} beside {SKILL_FILE}; take out what the "
        "skill does not need"
    )


def _walk(folder: Path, problems: Problems, where: Origin) -> Iterator[Path]:
    """Give the path of everything that is no folder, without following links to folders."""
    waiting = [folder]
    while waiting:
        here = waiting.pop()
        try:
            entries = sorted(os.scandir(here), key=lambda entry: entry.name)
        except OSError as error:
            problems.add(where, f"skill: the folder {str(here)!r} cannot be read: {error.strerror}")
            continue
        for entry in entries:
            path = here / entry.name
            if entry.name in _LITTER or entry.name.endswith(_LITTER_ENDINGS):
                continue
            if entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            elif path != folder / SKILL_FILE:
                yield path


def _read(path: Path, folder: Path, most: int) -> SkillFile:
    name = path.relative_to(folder).as_posix()
    shown = repr(str(path))
    if not is_encodable(name):
        raise ConfigError(f"the name {shown} is not UTF-8; rename it")
    if not is_inside(path, folder):
        raise ConfigError(
            f"{shown} is a link that leads out of its folder, or nowhere; put the file itself there"
        )
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ConfigError(f"{shown} is a link to a folder; put the files themselves there")
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{shown} is not a regular file; take it out of the folder")
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise ConfigError(
            f"{shown} cannot be read: {error.strerror}; make it readable or take it out of the "
            "folder"
        ) from error
    executable = bool(status.st_mode & stat.S_IXUSR)
    return SkillFile.of(name, content, executable=executable)

"""The files that task records name: read once, confined to a folder, bounded."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NoReturn

from skillopt.config.origins import Origin
from skillopt.config.tools import Fault
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.item import Attachment
from skillopt.domain.media import media_type_of

MAX_FILE_BYTES = 10_000_000
MAX_TASK_BYTES = 50_000_000
#: Of all tasks together, each content once: Redis keeps them in memory.
MAX_RUN_BYTES = 500_000_000
_KEYS = ("path", "name")
_MAX_NAME_CHARS = 200


class _Unusable(Exception):
    """Why a file cannot come with a task, in words that name the fix."""


class AttachmentReader:
    """Reads the attachments of records; `files` says where each content was found, `named` lists
    the paths by which records name them.
    """

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}
        self.named: dict[Path, None] = {}
        self._known: dict[tuple[Path, str], Attachment] = {}
        self._bytes = 0

    def read(self, written: object, where: Origin, fault: Fault) -> tuple[Attachment, ...]:
        """Read what a record gives as `attachments`; paths start from the folder of `where`."""
        if written is None:
            return ()
        if not isinstance(written, list):
            fault(f'attachments: {written!r} is not a list; write ["report.csv"]')
            return ()
        folder = where.folder or Path.cwd()
        found: list[Attachment] = []
        for number, entry in enumerate(written):
            try:
                found.append(self._one(entry, folder))
            except _Unusable as reason:
                fault(f"attachments[{number}]: {reason}")
        for clash in _clashes([one.path for one in found]):
            fault(f"attachments: {clash}")
        size = sum(one.size for one in found)
        if size > MAX_TASK_BYTES:
            fault(
                f"attachments: {size} bytes are too many; the files of a task may have at most "
                f"{MAX_TASK_BYTES}, so give fewer or smaller ones"
            )
        return tuple(found)

    def _one(self, entry: object, folder: Path) -> Attachment:
        path, name = _written(entry)
        found = _inside(folder, path)
        self.named.setdefault(folder / path)
        key = (found, PurePosixPath(name).suffix.lower())
        if key not in self._known:
            self._known[key] = self._take(found, path, name)
        return self._known[key].model_copy(update={"path": name})

    def _take(self, found: Path, path: str, name: str) -> Attachment:
        content = _content(found, path)
        sha256 = sha256_hex(content)
        if sha256 not in self.files:
            self._bytes += len(content)
            if self._bytes > MAX_RUN_BYTES:
                raise _Unusable(
                    f"with {path!r} the files of all tasks have more than {MAX_RUN_BYTES} bytes; "
                    "give fewer or smaller ones"
                )
            self.files[sha256] = found
        media_type = media_type_of(name, content)
        return Attachment(path=name, sha256=sha256, media_type=media_type, size=len(content))


def _written(entry: object) -> tuple[str, str]:
    """Give the path of an entry, and the name the target knows the file by."""
    if isinstance(entry, str):
        return entry, _checked(entry)
    if not isinstance(entry, dict):
        raise _Unusable(
            f'{entry!r} is neither a path nor an object; write "report.csv" or '
            '{"path": "report.csv"}'
        )
    for key in entry:
        if key not in _KEYS:
            raise _Unusable(f"{key!r} is not a known key; there are {', '.join(_KEYS)}")
    path, name = entry.get("path"), entry.get("name")
    if not isinstance(path, str):
        raise _Unusable(f"path: {path!r} is not a text; name the file")
    if name is None:
        return path, _checked(path)
    if not isinstance(name, str):
        raise _Unusable(f"name: {name!r} is not a text; put it in quotes, or leave it out")
    _checked(path)
    return path, _checked(name)


def _checked(written: str) -> str:
    """Refuse what is no plain path inside a folder; gives it in its shortest form."""
    parts = PurePosixPath(written).parts
    if written.startswith("/"):
        raise _Unusable(
            f"{written!r} is absolute; put the file beside the task file and name it from there"
        )
    if ".." in parts:
        raise _Unusable(
            f"{written!r} leads out of the task file's folder; put the file into that folder"
        )
    if not parts or not written.isprintable() or "\\" in written or "`" in written:
        raise _Unusable(f"{written!r} is not a usable path; write it like 'folder/report.csv'")
    name = "/".join(parts)
    if len(name) > _MAX_NAME_CHARS:
        raise _Unusable(
            f"{written!r} has {len(name)} characters; at most {_MAX_NAME_CHARS} are allowed"
        )
    return name


def _inside(folder: Path, written: str) -> Path:
    """Find the file; a link may lead to another place in the folder, but not out of it."""
    try:
        home = folder.resolve(strict=True)
        found = (home / written).resolve(strict=True)
    except FileNotFoundError:
        raise _Unusable(
            f"{written!r} does not exist in {str(folder)!r}; put the file there, or correct the "
            "path"
        ) from None
    except OSError as error:
        _cannot_be_read(written, error)
    except RuntimeError:
        raise _Unusable(f"{written!r} is a link that leads to itself; replace it") from None
    if not found.is_relative_to(home):
        raise _Unusable(
            f"{written!r} is a link that leads out of {str(folder)!r}; put the file itself there"
        )
    return found


def _content(found: Path, written: str) -> bytes:
    try:
        # Not blocking: a pipe that nobody writes to would never open.
        handle = os.open(found, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode):
                raise _Unusable(f"{written!r} is a folder; name the files in it one by one")
            if not stat.S_ISREG(mode):
                raise _Unusable(f"{written!r} is not a regular file; save its content in one")
            with os.fdopen(handle, "rb", closefd=False) as stream:
                content = stream.read(MAX_FILE_BYTES + 1)
        finally:
            os.close(handle)
    except OSError as error:
        _cannot_be_read(written, error)
    if len(content) > MAX_FILE_BYTES:
        raise _Unusable(
            f"{written!r} has more than {MAX_FILE_BYTES} bytes, the most a file may have; give a "
            "smaller one"
        )
    return content


def _cannot_be_read(written: str, error: OSError) -> NoReturn:
    raise _Unusable(
        f"{written!r} cannot be read: {error.strerror}; correct the path, or the file's permissions"
    ) from error


def _clashes(names: list[str]) -> Iterator[str]:
    """Name paths that cannot lie in one folder together, also where case does not count."""
    seen: dict[str, str] = {}
    for name in names:
        key = name.casefold()
        if key in seen:
            yield f"{name!r} is given twice; give one of the two another name"
        seen.setdefault(key, name)
    for name in names:
        for parent in PurePosixPath(name).parents:
            file = seen.get(str(parent).casefold())
            if file is not None:
                yield f"{file!r} is a file, and the folder of {name!r}; rename one of the two"

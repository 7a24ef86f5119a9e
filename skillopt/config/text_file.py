"""Read a text file that a person named, with errors that say what was expected there."""

from __future__ import annotations

import stat
from pathlib import Path

from skillopt.errors import InputError

DEFAULT_MAX_BYTES = 256 * 1024 * 1024


def read_text(
    path: Path, *, what: str, error: type[InputError], max_bytes: int = DEFAULT_MAX_BYTES
) -> str:
    """Read a UTF-8 file (with or without a byte order mark); raises `error` if that fails."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise error(f"{path}: is a folder; give {what} itself")
        if not stat.S_ISREG(status.st_mode):
            # A device or a pipe may have no end.
            raise error(f"{path}: is not a regular file; save {what} in one")
        size = status.st_size
        if size > max_bytes:
            raise error(f"{path}: has {size} bytes; {what} may have at most {max_bytes}")
        content = path.read_bytes()
    except FileNotFoundError:
        raise error(f"{path}: does not exist; expected {what} there") from None
    except OSError as failure:
        raise error(f"{path}: cannot be read as {what}: {failure.strerror}") from failure
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = content.count(b"\n", 0, failure.start) + 1
        raise error(
            f"{path}:{line}: byte {content[failure.start]:#04x} is not UTF-8; "
            "save the file with the encoding UTF-8"
        ) from failure
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise error(f"{path}:{line}: holds a zero byte; {what} is plain text, encoded as UTF-8")
    return text

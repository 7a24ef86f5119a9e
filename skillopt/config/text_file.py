"""Read a text file that a person named, with errors that say what was expected there."""

from __future__ import annotations

from pathlib import Path

from skillopt.errors import InputError

DEFAULT_MAX_BYTES = 256 * 1024 * 1024


def read_text(
    path: Path, *, what: str, error: type[InputError], max_bytes: int = DEFAULT_MAX_BYTES
) -> str:
    """Read a UTF-8 file (with or without a byte order mark); raises `error` if that fails."""
    if path.is_dir():
        raise error(f"{path}: is a folder; give {what} itself")
    try:
        size = path.stat().st_size
        if size > max_bytes:
            raise error(f"{path}: has {size} bytes; {what} may have at most {max_bytes}")
        content = path.read_bytes()
    except FileNotFoundError:
        raise error(f"{path}: does not exist; expected {what} there") from None
    except OSError as failure:
        raise error(f"{path}: cannot be read as {what}: {failure.strerror}") from failure
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = content.count(b"\n", 0, failure.start) + 1
        raise error(
            f"{path}:{line}: byte {content[failure.start]:#04x} is not UTF-8; "
            "save the file with the encoding UTF-8"
        ) from failure

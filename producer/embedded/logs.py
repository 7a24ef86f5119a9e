"""Reading the end of a child's log for an error message."""

from __future__ import annotations

from pathlib import Path

#: Enough for the lines of any error message; logs themselves may be large.
TAIL_BYTES = 65536


def last_lines(path: Path, count: int, *, since: int = 0) -> list[str]:
    """The last lines of a log, none from before the byte offset `since`; [] if there is no log."""
    try:
        with path.open("rb") as log:
            size = log.seek(0, 2)
            log.seek(max(since, size - TAIL_BYTES, 0))
            text = log.read().decode("utf-8", errors="replace")
    except FileNotFoundError:
        return []
    return text.splitlines()[-count:]


def indented(lines: list[str]) -> str:
    return "\n".join(f"    {line}" for line in lines) if lines else "    (the log is empty)"


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

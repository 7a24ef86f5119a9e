"""events.jsonl: a run's log on disk, one line per entry, synced before it counts as written.

A crash in mid-write leaves a torn last line. Readers ignore it; the next append cuts it off and
writes the entry again.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from producer.folder.durable import sync_folder
from skillopt.errors import StateCorrupt
from skillopt.state.ports import LogEntry


@dataclass(frozen=True)
class _Content:
    """The whole lines of the file, and how many bytes they take."""

    entries: tuple[LogEntry, ...]
    size: int

    @property
    def last_seq(self) -> int:
        return self.entries[-1].seq if self.entries else 0


class EventMirror:
    """The log of one run in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Size of the file when it was last seen whole, and its last number then.
        self._seen: tuple[int, int] | None = None

    def entries(self) -> list[LogEntry]:
        """Read every whole entry; none if there is no file."""
        return list(self._read().entries)

    def first(self) -> LogEntry | None:
        """Read the first entry only; None if it is not whole."""
        try:
            with self._path.open("rb") as stream:
                return _decode(stream.readline())
        except FileNotFoundError:
            return None

    def last_seq(self) -> int:
        """Give the number of the last whole entry, 0 if there is none."""
        return self._read().last_seq

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Write the entries the file does not have yet; returns how many they were.

        Entries that it has must say the same. Raises StateCorrupt on a difference or a gap, and
        then writes nothing.
        """
        if not entries:
            return 0
        created = not self._path.exists()
        with self._path.open("a+b") as stream:
            # A coordinator that lost its lead may still be writing.
            fcntl.flock(stream, fcntl.LOCK_EX)
            written = self._append(stream, entries)
        if created:
            sync_folder(self._path.parent)
        return written

    def _append(self, stream: BinaryIO, entries: Sequence[LogEntry]) -> int:
        size = os.fstat(stream.fileno()).st_size
        last = self._last_if_unchanged(size)
        if last is None or entries[0].seq <= last:
            content = self._parse(_whole(stream))
            last = self._check(content, entries)
            if content.size < size:
                stream.truncate(content.size)
                size = content.size
        new = [entry for entry in entries if entry.seq > last]
        for expected, entry in enumerate(new, start=last + 1):
            if entry.seq != expected:
                raise StateCorrupt(
                    f"{str(self._path)!r} ends at entry {last} and was given entry {entry.seq} "
                    f"where {expected} is due; mirror the log from entry {last + 1} on"
                )
        encoded = b"".join(_encode(entry) for entry in new)
        stream.write(encoded)
        stream.flush()
        os.fsync(stream.fileno())
        self._seen = (size + len(encoded), last + len(new))
        return len(new)

    def _last_if_unchanged(self, size: int) -> int | None:
        return self._seen[1] if self._seen and self._seen[0] == size else None

    def _check(self, content: _Content, entries: Sequence[LogEntry]) -> int:
        known = {entry.seq: entry for entry in content.entries}
        for entry in entries:
            mine = known.get(entry.seq)
            if mine is not None and json.loads(mine.event) != json.loads(entry.event):
                raise StateCorrupt(
                    f"entry {entry.seq} of {str(self._path)!r} is not the log's entry "
                    f"{entry.seq}: the folder belongs to another history of this run; move it away"
                )
        return content.last_seq

    def _read(self) -> _Content:
        try:
            return self._parse(self._path.read_bytes())
        except FileNotFoundError:
            return _Content((), 0)

    def _parse(self, content: bytes) -> _Content:
        lines = content.splitlines(keepends=True)
        entries: list[LogEntry] = []
        size = 0
        for number, line in enumerate(lines, start=1):
            entry = _decode(line)
            if entry is None and number == len(lines):
                break  # torn: the writer died before it was whole
            if entry is None or entry.seq != number:
                raise StateCorrupt(
                    f"line {number} of {str(self._path)!r} is not entry {number} of a run's log"
                )
            entries.append(entry)
            size += len(line)
        return _Content(tuple(entries), size)


def _whole(stream: BinaryIO) -> bytes:
    stream.seek(0)
    return stream.read()


def _encode(entry: LogEntry) -> bytes:
    row = {"seq": entry.seq, "at": entry.at, "event": json.loads(entry.event)}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _decode(line: bytes) -> LogEntry | None:
    """Read one line; None if it is not a whole entry."""
    if not line.endswith(b"\n"):
        return None
    try:
        row: Any = json.loads(line)
        event = json.dumps(row["event"], ensure_ascii=False, separators=(",", ":"))
        return LogEntry(int(row["seq"]), float(row["at"]), event)
    except (ValueError, KeyError, TypeError):
        return None

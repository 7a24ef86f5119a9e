"""A disk that stops at a chosen operation, as when the power goes: unsynced bytes may be lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from interrupted_runs import Interruption, Moment

#: What the run folder's writers change files with; opening alone changes nothing that counts.
OPERATIONS = ("replace", "rename", "mkdir", "unlink", "rmdir", "fsync")


@dataclass
class FailingDisk(Interruption):
    """Counts operations; at the chosen one the machine stops, before or after it."""

    #: The share of a file's unsynced bytes that reached the disk.
    survived: float = 0.5
    #: Bytes of each file that are safe.
    synced: dict[int, int] = field(default_factory=dict)

    def attach(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in OPERATIONS:
            real = getattr(os, name)
            wrapped = self._fsync(real) if name == "fsync" else self._plain(name, real)
            monkeypatch.setattr(os, name, wrapped)

    def _plain(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*arguments: Any, **named: Any) -> Any:
            return self.through(name, lambda: real(*arguments, **named))

        return operation

    def _fsync(self, real: Callable[[int], None]) -> Callable[[int], None]:
        def operation(handle: int) -> None:
            if not self.dead and len(self.calls) + 1 == self.at and self.moment == "before":
                self._tear(handle)
            self.through("fsync", lambda: None)
            status = os.fstat(handle)
            self.synced[status.st_ino] = status.st_size

        return operation

    def _tear(self, handle: int) -> None:
        status = os.fstat(handle)
        if stat.S_ISREG(status.st_mode):
            safe = self.synced.get(status.st_ino, 0)
            # By name, for what is synced may be open for reading only.
            kept = safe + int((status.st_size - safe) * self.survived)
            os.truncate(f"/proc/self/fd/{handle}", kept)


def failing_disk(
    monkeypatch: pytest.MonkeyPatch,
    at: int | None,
    moment: Moment = "before",
    survived: float = 0.5,
) -> FailingDisk:
    disk = FailingDisk(at, moment, survived=survived)
    disk.attach(monkeypatch)
    return disk

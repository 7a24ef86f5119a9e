"""What the routes work with, once for an app."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from anyio import CapacityLimiter

from producer.api.settings import ApiSettings
from producer.api.simultaneous import Simultaneous
from producer.queue.port import Queue
from producer.run_folder import RunFolder
from skillopt.state.ports import State

#: (owner, team) -> whether runs of theirs are seen.
Sees = Callable[[str, str], bool]


class SharedQueue(Protocol):
    """One queue for the process, seen by each caller in their own way."""

    def for_caller(self, *, owner: str, team: str, sees: Sees | None) -> Queue: ...


class WriteReport(Protocol):
    """Gives the report of a run (by its id) as one HTML file."""

    def __call__(self, queue: Queue, run: str) -> str: ...


@dataclass(frozen=True)
class ApiParts:
    state: State
    queue: SharedQueue
    #: Gives the report of a run as one HTML file.
    report: Callable[[RunFolder], str]
    settings: ApiSettings
    #: Where uploads and exports lie while they are worked on.
    folder: Path
    streams: Simultaneous
    uploads: Simultaneous
    #: For polls of streams, and for uploads and exports: neither may take the threads of others.
    polls: CapacityLimiter
    heavy: CapacityLimiter
    #: One at a time: two owners who submit the same content must not meet in one run.
    submitting: CapacityLimiter
    #: Whether the server is about to end: streams then do, too.
    stopping: Callable[[], bool]

"""A job that this process works on, and how it is told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from skillopt.errors import SkillOptError
from skillopt.judges.function import ANSWER_TIMEOUT_S

#: The longest that a job does anything without a model: judging by a function of the user.
LOCAL_WORK_S = ANSWER_TIMEOUT_S


class Stop(StrEnum):
    """Why a job is told to stop."""

    LOST = "lost"
    ABANDONED = "abandoned"
    DRAINING = "draining"


class JobStopped(SkillOptError):
    """The job must not go on: it was told to stop."""

    code = "stopped"

    def __init__(self, why: Stop) -> None:
        super().__init__(f"the job was told to stop: {why}")
        self.why = why


@dataclass
class Held:
    """A job this process works on."""

    job: str
    owner: str
    run: str
    #: Calls in flight: each has a reservation and a slot of this name.
    reservations: set[str] = field(default_factory=set)
    stop: Stop | None = None
    #: Set together with `stop`; waiting on it is how a job sleeps.
    stopped: threading.Event = field(default_factory=threading.Event)
    #: Cancels the model call in flight.
    cancel: Callable[[], object] | None = None
    #: By when it should have moved on, by this process's clock.
    due_at: float = field(default_factory=lambda: time.monotonic() + LOCAL_WORK_S)

    @contextmanager
    def busy_for(self, seconds: float) -> Iterator[None]:
        """Do something that ends within some seconds, or the job counts as stuck."""
        self.due_at = time.monotonic() + seconds
        try:
            yield
        finally:
            self.due_at = time.monotonic() + LOCAL_WORK_S

    def wait_no_more(self) -> None:
        """Let a call in flight finish, but neither wait nor try again after it."""
        self.stopped.set()

    def tell_to_stop(self, why: Stop) -> None:
        """Stop before the next call. A call in flight is paid already: it is cut off only if
        nobody wants it or the process must go; a lost lease still lets its result be offered.
        """
        self.stop = self.stop or why
        self.stopped.set()
        if self.cancel is not None and why is not Stop.LOST:
            self.cancel()

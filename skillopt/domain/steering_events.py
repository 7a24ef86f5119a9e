"""Events that hold a run up, let it go on, or change its terms; the others are in `events`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from skillopt.domain.spec import Budget, Priority, Stop


class Record(BaseModel):
    """What every event is."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LeftOut(Record):
    """A person takes tasks out of every later comparison: task -> why."""

    type: Literal["left_out"] = "left_out"
    items: dict[str, str]


class GaveUp(Record):
    """Jobs that cannot be run for now: job -> reason. They have no score, not a zero."""

    type: Literal["gave_up"] = "gave_up"
    jobs: dict[str, str]


class Paused(Record):
    type: Literal["paused"] = "paused"
    why: Literal["budget", "infrastructure", "coverage", "requested"]
    detail: str


class Resumed(Record):
    """The run goes on; jobs given up before are tried again, under this budget from now on."""

    type: Literal["resumed"] = "resumed"
    budget: Budget = Budget()


class Retuned(Record):
    """A person changed what a run may spend, how soon it ends or how much of the fleet it gets:
    all of it as it is from now on.
    """

    type: Literal["retuned"] = "retuned"
    budget: Budget
    stop: Stop
    priority: Priority
    #: Most jobs in flight on each backend; None: by fair share alone.
    window: int | None
    #: The keys that are other than before.
    changed: tuple[str, ...]


class Cancelled(Record):
    """A person ended the run. Only submitting it again makes it go on."""

    type: Literal["cancelled"] = "cancelled"
    detail: str = ""

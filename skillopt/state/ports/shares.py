"""What runs want of a backend at this moment, so that each can tell its fair part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Demand:
    """What one run wants of one backend now."""

    run: str
    #: Whose share it is part of; "" is nobody's in particular, which is a share of its own.
    owner: str
    #: Jobs that it could use now.
    wanted: int
    #: How much it counts among the runs of its owner.
    weight: int
    #: The most that it may have in flight; None: as much as its share allows.
    window: int | None = None
    #: The most that all runs of its owner may have, by the owner's quota as it is when demands
    #: are read; what is reported here is ignored.
    owner_window: int | None = None


class Shares(Protocol):
    """Demands of runs, each until it is reported anew, withdrawn or `demand_s` old."""

    def report(self, backend: str, demand: Demand) -> list[Demand]:
        """Say what a run wants of a backend now, and get what all of them want, this one
        included: those that have wanted it for longest first.
        """
        ...

    def withdraw(self, backend: str, run: str) -> None:
        """Say that a run wants nothing of a backend any more."""
        ...

    def demands(self, backend: str) -> list[Demand]:
        """Give what all runs want of a backend, in the order of `report`."""
        ...

"""What people ask of a run while somebody else leads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class PendingRequest:
    """One request: its id, which is unique in its run, and what was asked (JSON)."""

    id: str
    request: str


class Requests(Protocol):
    """Only the lead of a run changes it; everybody else asks here, and the lead takes it up."""

    def post(self, run: str, request: str) -> str:
        """Leave a request and ring the run's doorbell; returns its id. It expires by itself."""
        ...

    def pending(self, run: str) -> list[PendingRequest]:
        """Give what nobody has taken up yet, oldest first."""
        ...

    def settle(self, run: str, ids: Sequence[str]) -> None:
        """Take requests off the list, once what they ask for is in the log; safe to repeat."""
        ...

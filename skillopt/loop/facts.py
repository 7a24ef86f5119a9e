"""What `decide` may look at besides the state: the run's ledger, and the results it pins."""

from __future__ import annotations

from typing import Protocol

from skillopt.domain.messages import Message
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import Body


class Facts(Protocol):
    """The results a run has seen. A body never changes once its line is in the ledger."""

    def line(self, job: str) -> LedgerLine | None: ...

    def body(self, job: str) -> Body:
        """Give the body of a job whose line is known."""
        ...

    def messages(self, job: str) -> tuple[Message, ...]:
        """Give the conversation of a rollout whose line is known, its last answer included; none
        if its reply has no trajectory.
        """
        ...

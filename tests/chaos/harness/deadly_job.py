"""A job that kills the worker which takes it up, as one does that eats all memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.fleet import Fleet


@dataclass
class DeadlyJob:
    """Kills every worker that claims the job, up to a number of them; `strike` it often."""

    fleet: Fleet
    job: str
    most: int
    _killed: set[str] = field(default_factory=set)

    @property
    def kills(self) -> int:
        return len(self._killed)

    def strike(self) -> None:
        """Kill whoever has the job now. Raises redis errors if Redis is away."""
        if self.kills >= self.most:
            return
        owner = self.fleet.leases().get(self.job)
        if owner is not None and owner not in self._killed and self.fleet.kill_owner(owner):
            self._killed.add(owner)

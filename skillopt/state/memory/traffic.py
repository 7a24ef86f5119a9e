"""What the memory adapter knows of the traffic to backends."""

from __future__ import annotations

from dataclasses import dataclass, field

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import Waiting
from skillopt.state.memory.expiring import Clock, Expiring


@dataclass
class Bucket:
    """The share of a window that is left, and since when."""

    level: float
    at: float


@dataclass
class Rates:
    calls: Bucket | None = None
    tokens: Bucket | None = None
    #: The share of a window that one call was estimated at.
    largest: float = 0.0


@dataclass
class Concurrency:
    allowed: int
    cooldown: float
    #: Since the last 429, or the last growth.
    clean: float


@dataclass
class Breaker:
    failures: int = 0
    said: str = ""
    open_until: float | None = None
    probe: str = ""
    probe_until: float = 0.0


@dataclass
class Slots:
    """Calls in flight, by the time their slots lapse."""

    ends: dict[str, float] = field(default_factory=dict)

    def sweep(self, now: float) -> int:
        """Take back what has lapsed and count the rest."""
        self.ends = {slot: end for slot, end in self.ends.items() if end > now}
        return len(self.ends)


class Traffic:
    """Pauses and rates by credential, slots by backend and credential, breakers by endpoint."""

    def __init__(self, clock: Clock) -> None:
        self.holds: Expiring[bool] = Expiring(clock)
        self.rates: Expiring[Rates] = Expiring(clock)
        self.slots: Expiring[Slots] = Expiring(clock)
        self.concurrency: Expiring[Concurrency] = Expiring(clock)
        self.breakers: Expiring[Breaker] = Expiring(clock)
        #: What the last call that had to wait waits for, and until when.
        self.waits: Expiring[tuple[Waiting, float]] = Expiring(clock)

    def allowed(self, name: str, limits: Limits) -> int | None:
        """Give the calls allowed at a time; None if nothing limits them."""
        learnt = self.concurrency.get(name)
        allowed = None if learnt is None else max(learnt.allowed, limits.min_concurrency)
        if limits.concurrency is None:
            return allowed
        return min(limits.concurrency if allowed is None else allowed, limits.concurrency)

"""What is done to a fleet, and when: a pure function of a seed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """One way in which a part of the fleet can fail."""

    KILL_WORKER = "kill -9 of a worker"
    KILL_COORDINATOR = "kill -9 of a coordinator"
    KILL_COMMAND = "kill -9 of the submitting command"
    STOP_WORKER = "worker frozen longer than its lease"
    STOP_COORDINATOR = "coordinator frozen longer than its lease"
    TERM_WORKER = "SIGTERM of a worker"
    KILL_REDIS = "kill -9 of Redis"
    FULL_REDIS = "Redis full"
    FLUSH_BROKER = "broker database flushed"
    STEAL = "messages stolen"
    DUPLICATE = "messages duplicated"
    HALF_OPEN = "connections half-open"
    CUT = "connections cut"
    DELAY = "connections slow"
    CLOCK = "worker with its clock an hour off"
    POISON = "job that kills its workers"


#: How long each kind lasts, from and to, in seconds; what is not listed is over at once. A frozen
#: process must outlast the scaled leases, which are 3 s.
DURATIONS: Final[dict[Kind, tuple[float, float]]] = {
    Kind.KILL_COMMAND: (0.2, 2.0),
    Kind.STOP_WORKER: (3.6, 5.0),
    Kind.STOP_COORDINATOR: (3.6, 5.0),
    Kind.KILL_REDIS: (0.3, 2.5),
    Kind.FULL_REDIS: (1.0, 3.0),
    Kind.HALF_OPEN: (3.5, 6.0),
    Kind.DELAY: (2.0, 4.0),
}

#: The share of the work that is done when the first and the last fault come.
FIRST, LAST = 0.02, 0.85

#: Faults beyond one of each kind.
EXTRA: Final = 3
#: These come once, for a fleet must have workers: it takes one half a minute to be sure of a
#: half-open connection, and a job that kills strikes several.
ONCE: Final = frozenset({Kind.HALF_OPEN, Kind.POISON})


@dataclass(frozen=True)
class Fault:
    """One fault: it comes when `share` of the work is done."""

    share: float
    kind: Kind
    #: Chooses among the parts that the kind can strike.
    pick: int
    lasts_s: float


def schedule(seed: int, kinds: tuple[Kind, ...] = tuple(Kind)) -> list[Fault]:
    """Give the faults of a seed in order: every kind once, and some twice.

    They come by progress, not by time: a slow machine gets the same faults in the same places.
    Two may come so close that the second strikes while the first lasts.
    """
    rng = random.Random(f"chaos {seed}")
    again = [kind for kind in kinds if kind not in ONCE]
    chosen = [*kinds, *rng.choices(again, k=EXTRA)]
    rng.shuffle(chosen)
    shares = sorted(rng.uniform(FIRST, LAST) for _ in chosen)
    return [
        Fault(share, kind, rng.randrange(1_000_000), rng.uniform(*DURATIONS.get(kind, (0.0, 0.0))))
        for share, kind in zip(shares, chosen, strict=True)
    ]

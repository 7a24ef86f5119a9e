"""What goes wrong with a call: decided by its content and by how often it was asked before."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from skillopt.domain.seeds import stream
from skillopt.simulator.options import Control, OutageKind, SimulatorOptions

FaultKind = Literal["none", "500", "refuse", "stall"]


@dataclass(frozen=True)
class Fault:
    kind: FaultKind
    latency_s: float


def fault_of(options: SimulatorOptions, key: str, asked_before: int) -> Fault:
    """Draw the fate of a call; asking again draws anew, so a retry can succeed."""
    rng = stream(options.seed, "fault", key, asked_before)
    latency_s = options.latency_s * math.exp(options.latency_sigma * rng.gauss(0, 1))
    draw = rng.random()
    rates: tuple[tuple[FaultKind, float], ...] = (
        ("500", options.error_rate),
        ("stall", options.stall_rate),
        ("refuse", options.drop_rate),
    )
    for kind, rate in rates:
        if draw < rate:
            return Fault(kind, latency_s)
        draw -= rate
    return Fault("none", latency_s)


@dataclass
class Outage:
    """An outage for a time or for a number of calls, whichever was asked for."""

    until_s: float = 0.0
    calls_left: int = 0
    kind: OutageKind = "500"

    def change(self, control: Control, now_s: float) -> None:
        """Begin, prolong or (with 0) end an outage."""
        if control.outage_s is not None:
            self.until_s, self.kind = now_s + control.outage_s, control.outage_kind
        if control.outage_calls is not None:
            self.calls_left, self.kind = control.outage_calls, control.outage_kind

    def strikes(self, now_s: float) -> OutageKind | None:
        """Say what happens to a call now, and count it."""
        if self.calls_left > 0:
            self.calls_left -= 1
            return self.kind
        return self.kind if now_s < self.until_s else None

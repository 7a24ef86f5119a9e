"""What runs may spend and have spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.domain.usage import Role


@dataclass(frozen=True)
class Caps:
    """A run's budget; None means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True)
class Amount:
    calls: int = 0
    tokens: int = 0
    micro_usd: int = 0


@dataclass(frozen=True)
class Spend:
    """What a run has spent. `unconfirmed` are calls whose worker vanished: counted at their
    estimate. `refused` names the cap that refused a call, "" if none did.
    """

    calls: Mapping[Role, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    reserved: Amount = Amount()
    unconfirmed: Amount = Amount()
    executions: int = 0
    repaid_calls: int = 0
    refused: str = ""


class Budgets(Protocol):
    def set_caps(self, run: str, caps: Caps) -> None:
        """Set (or raise) a run's caps; clears `refused`."""
        ...

    def reserve(
        self, run: str, reservation: str, *, job: str, role: Role, estimate: Amount
    ) -> str | None:
        """Reserve one call before it is made. None if granted, else the cap that refuses it
        ("calls", "tokens" or "usd"). Lapsed reservations are first settled as unconfirmed.
        Repeating a granted reservation changes nothing.
        """
        ...

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        """Keep reservations of calls still in flight from lapsing."""
        ...

    def settle(
        self, run: str, reservation: str, *, input_tokens: int, output_tokens: int, micro_usd: int
    ) -> None:
        """Replace a reservation by what the call really took. Settling twice counts once; a
        lapsed reservation settled late moves from unconfirmed to spent.
        """
        ...

    def write_off(self, run: str) -> None:
        """Settle every open reservation as unconfirmed at once: whoever made them is gone."""
        ...

    def spend(self, run: str) -> Spend: ...

"""What runs, owners and teams may spend and have spent.

A call is paid by its run and, where the run has them, by its owner and its team as well: each of
these scopes has caps, a meter and reservations of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from skillopt.domain.usage import Role

Cap = Literal["calls", "tokens", "usd"]
ScopeKind = Literal["run", "owner", "team"]


@dataclass(frozen=True)
class Caps:
    """What a scope may spend; None means unlimited."""

    calls: int | None = None
    tokens: int | None = None
    micro_usd: int | None = None


@dataclass(frozen=True)
class Amount:
    calls: int = 0
    tokens: int = 0
    micro_usd: int = 0


@dataclass(frozen=True, order=True)
class Scope:
    """Who pays: one run, or everything of an owner or a team."""

    kind: ScopeKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True)
class Refusal:
    """Which cap of which scope refuses a call.

    `final`: the call does not fit on top of what is spent. Otherwise it does not fit on top of
    what the calls in flight may take: once they have ended it may.
    """

    scope: Scope
    cap: Cap
    final: bool = True


@dataclass(frozen=True)
class Spend:
    """What a scope has spent.

    `unconfirmed` are calls of which only the estimate is known: their worker vanished, or they
    were sent and no answer came. `refused` is the last final refusal since caps were set.
    """

    calls: Mapping[Role, int] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    micro_usd: int = 0
    #: Only of roles that have any; less than the sum if the run was restored from its folder.
    micro_usd_by_role: Mapping[Role, int] = field(default_factory=dict)
    #: Of the tokens, those that we counted because the provider did not.
    estimated_tokens: int = 0
    #: Of the calls, those to backends without a price.
    unpriced_calls: int = 0
    reserved: Amount = Amount()
    unconfirmed: Amount = Amount()
    executions: int = 0
    repaid_calls: int = 0
    refused: Refusal | None = None


@dataclass(frozen=True)
class SharedBudget:
    """What an owner or a team may spend and has spent, over all runs."""

    scope: Scope
    caps: Caps
    spend: Spend


class Budgets(Protocol):
    def set_caps(self, run: str, caps: Caps) -> None:
        """Set (or raise) a run's caps; clears `refused`."""
        ...

    def join(self, run: str, *, owner: str = "", team: str = "") -> None:
        """Say who pays beside the run from now on; "" is nobody. Calls that are reserved stay
        with whom they were reserved for.
        """
        ...

    def set_shared_caps(self, scope: Scope, changes: Mapping[Cap, int | None]) -> None:
        """Set or remove (None) caps of an owner or a team; money is in millionths of a dollar.
        Caps that are not named stay.
        """
        ...

    def shared(self) -> list[SharedBudget]:
        """Give every owner and team that has a cap or a run, sorted; what lapsed is settled."""
        ...

    def reserve(
        self,
        run: str,
        reservation: str,
        *,
        job: str,
        role: Role,
        estimate: Amount,
        priced: bool = True,
        backend: str = "",
    ) -> Refusal | None:
        """Reserve one call (of a backend) before it is made, with all who pay for it or with none.

        None if granted, else who refuses it. Lapsed reservations of all of them are first settled
        as unconfirmed. Repeating a granted reservation changes nothing.
        """
        ...

    def renew(self, run: str, reservations: Sequence[str]) -> None:
        """Keep reservations of calls still in flight from lapsing."""
        ...

    def settle(
        self,
        run: str,
        reservation: str,
        *,
        input_tokens: int,
        output_tokens: int,
        micro_usd: int,
        estimated: bool = False,
    ) -> None:
        """Replace a reservation by what the call really took. Settling twice counts once; a
        lapsed reservation settled late moves from unconfirmed to spent.
        """
        ...

    def settle_unknown(self, run: str, reservation: str) -> None:
        """Count a call at its estimate, as unconfirmed: it was sent, and may have been billed,
        but nobody heard what it took. Settling it again, either way, counts nothing.
        """
        ...

    def write_off(self, run: str) -> None:
        """Settle every open reservation as unconfirmed at once: whoever made them is gone."""
        ...

    def spend(self, run: str) -> Spend: ...

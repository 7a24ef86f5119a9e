"""The traffic to a backend, shared by all workers: pauses, rates, calls at a time, breaker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from skillopt.domain.backend import Limits
from skillopt.domain.throttling import Waiting

#: How a call that was let through ended: it got an answer; the provider asked to slow down; the
#: endpoint failed; it answered, but not with a reply (a refused key, a bad request); nobody knows
#: (a timeout, a call that was cut); it was never sent.
EndKind = Literal["ok", "limited", "failed", "refused", "unknown", "unsent"]


@dataclass(frozen=True)
class ThrottleScope:
    """Who waits together: pauses and rates go by credential, calls at a time by backend and
    credential, failures by endpoint.
    """

    backend: str
    credential: str
    endpoint: str


@dataclass(frozen=True)
class Admission:
    """Whether a call may start now; if not, what it waits for."""

    waiting: Waiting | None = None

    @property
    def granted(self) -> bool:
        return self.waiting is None


@dataclass(frozen=True)
class CallEnd:
    """What became of a call that was let through."""

    kind: EndKind
    #: Tokens that were charged when it started, and those it really took.
    charged_tokens: int = 0
    taken_tokens: int = 0
    #: How long nobody shall use the credential, if the provider said so.
    hold_s: float = 0.0
    #: What an endpoint that failed said.
    detail: str = ""


@dataclass(frozen=True)
class Standing:
    """How things stand with a backend, for people."""

    in_flight: int
    #: Calls allowed at a time; None while neither a limit nor a 429 has set any.
    allowed: int | None
    breaker: Literal["closed", "open", "probing"]
    hold_s: float


class Throttle(Protocol):
    """Lets calls through, one decision for all of it."""

    def admit(self, scope: ThrottleScope, limits: Limits, slot: str, *, tokens: int) -> Admission:
        """Let a call start, or say what it has to wait for.

        A call that may start takes a slot, which it must `leave`, and is charged against `rpm`
        and (with `tokens`, an estimate) `tpm`. In any window at most `limit_share` of either is
        let through; a single call that is estimated at more than half of `tpm` goes when nothing
        else does. A call that must wait takes nothing. Asking again for a slot that was granted
        changes nothing. A slot that is not renewed for `lease_s` comes back by itself.

        An endpoint that failed `breaker_failures` times in a row is left alone for
        `breaker_open_s`; then one call at a time tries it, until one gets an answer.
        """
        ...

    def renew(self, scope: ThrottleScope, slots: Sequence[str]) -> None:
        """Keep slots of calls still in flight from coming back."""
        ...

    def leave(self, scope: ThrottleScope, limits: Limits, slot: str, end: CallEnd) -> None:
        """Give a slot back and learn from how the call ended. Leaving twice counts once.

        A provider that asked to slow down: fewer calls at a time (by `concurrency_factor` of
        those in flight, never under `min_concurrency`), at most once in `concurrency_cooldown_s`,
        however long a pause it asked for. A reply: one more at a time, at most once in
        `concurrency_growth_s`, if those allowed are used. A longer hold in force stays.
        """
        ...

    def waiting(self, backends: Sequence[str]) -> dict[str, Waiting]:
        """Give the backends whose calls had to wait just now, and for what."""
        ...

    def standing(self, scope: ThrottleScope, limits: Limits) -> Standing: ...


def allowed_in_a_window(limit: int | None, share: float) -> int | None:
    """Give the whole number of calls or tokens that may start in a window: never none at all."""
    return None if limit is None else max(1, int(limit * share))

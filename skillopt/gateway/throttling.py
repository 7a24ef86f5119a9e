"""How one call meets the throttle that all workers share: it waits for its turn, and reports.

A call waits here, with its job's lease held, for as long as a throttle may take; beyond that the
job is given back with the time at which trying again makes sense.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol

from skillopt.backends.base import ChatBackend
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.throttling import ThrottleReason, Waiting, waiting_for
from skillopt.errors import (
    BudgetExhausted,
    BudgetHeld,
    CallError,
    CallTimeout,
    ConnectionFailed,
    EndpointDown,
    RateLimited,
    ServerFailed,
    Throttled,
)
from skillopt.state.ports import Admission, CallEnd, EndKind, ThrottleScope

#: What callers that wait for the same thing add to their wait, as a share of it: callers who all
#: start in the same instant spread out, and those who take turns do not ask in step.
_SPREAD: Final[dict[ThrottleReason, float]] = {
    "hold": 0.1,
    "breaker": 0.1,
    "slots": 1.0,
    "rpm": 1.0,
    "tpm": 1.0,
}
#: Of what an endpoint said, as much is kept for people.
_SAID_LIMIT: Final = 120


class Wait(Protocol):
    """Sleeping that a drain or a lost lease interrupts (by raising)."""

    def __call__(self, seconds: float) -> None: ...


@dataclass(frozen=True)
class Turn:
    """Waiting for one call's turn: how long it may take, and how it is done."""

    backend: str
    admit: Callable[[], Admission]
    wait: Wait
    uniform: Callable[[], float]
    wait_limit_s: float

    def take(self) -> None:
        """Wait until the call may start. Raises Throttled or EndpointDown if that takes longer
        than may be waited in place; nothing was sent then.
        """
        waited_s = 0.0
        while (waiting := self.admit().waiting) is not None:
            pause_s = waiting.for_s * (1.0 + _SPREAD[waiting.why] * self.uniform())
            if waited_s + waiting.for_s > self.wait_limit_s:
                raise self._given_back(waiting, pause_s)
            self.wait(pause_s)
            waited_s += pause_s

    def _given_back(self, waiting: Waiting, pause_s: float) -> CallError:
        kind = EndpointDown if waiting.why == "breaker" else Throttled
        return kind(waiting_for(self.backend, waiting, datetime.now(UTC)), retry_after_s=pause_s)


def scope_of(backend: Backend, chat: ChatBackend) -> ThrottleScope:
    """Name what the calls of a backend share with others. No address enters the shared state.

    Several addresses of one deployment count as one endpoint: while one of them answers, the
    deployment can be reached.
    """
    addresses = [endpoint.url for endpoint in backend.azure.endpoints] if backend.azure else []
    address = backend.base_url or " ".join(addresses) or backend.kind
    return ThrottleScope(
        backend=backend.name,
        credential=chat.credential,
        endpoint=short(text_hash(address)),
    )


def end_after(error: CallError, charged_tokens: int) -> CallEnd:
    """Say what the throttle learns from a call that brought no reply."""
    kind = _kind_of(error)
    # A call that nobody heard of again may have taken all it was estimated at.
    taken = charged_tokens if kind == "unknown" else 0
    asked_s = error.retry_after_s if isinstance(error, RateLimited) else None
    detail = str(error)[:_SAID_LIMIT] if kind == "failed" else ""
    return CallEnd(kind, charged_tokens, taken, hold_s=asked_s or 0.0, detail=detail)


def _kind_of(error: CallError) -> EndKind:
    if isinstance(error, RateLimited):
        return "limited"
    if isinstance(error, ServerFailed | ConnectionFailed):
        return "failed"
    if isinstance(error, BudgetExhausted | BudgetHeld):
        return "unsent"
    return "unknown" if isinstance(error, CallTimeout) else "refused"

"""Ways to bring the shared throttle into a certain state."""

from __future__ import annotations

from skillopt.domain.backend import Limits
from skillopt.state.ports import CallEnd, State, ThrottleScope

FREE = Limits()


def scope(backend: str = "gpt", credential: str = "c1", endpoint: str = "e1") -> ThrottleScope:
    return ThrottleScope(backend, credential, endpoint)


def hold(state: State, credential: str, for_s: float) -> None:
    """Let a provider ask for a pause on a credential, as the answer to some other call."""
    other = scope("other", credential, "elsewhere")
    assert state.throttle.admit(other, FREE, "earlier", tokens=0).granted
    state.throttle.leave(other, FREE, "earlier", CallEnd("limited", hold_s=for_s))


def held_s(state: State, credential: str) -> float:
    return state.throttle.standing(scope("other", credential), FREE).hold_s

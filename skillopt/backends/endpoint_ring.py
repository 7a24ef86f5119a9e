"""Which of several endpoints of one deployment is asked next."""

from __future__ import annotations

from skillopt.errors import CallError

#: How long an endpoint is left alone after a failure for which it named no time.
ASIDE_S = 10.0


class EndpointRing:
    """Goes round; an endpoint that failed is passed over until its time has come."""

    def __init__(self, size: int, first: int = 0) -> None:
        self._free_at_s = [0.0] * size
        self._next = first % size

    def choose(self, now_s: float) -> int:
        """Give the next endpoint that is free, or the one that will be free first."""
        size = len(self._free_at_s)
        in_turn = [(self._next + step) % size for step in range(size)]
        place = min(in_turn, key=lambda one: max(self._free_at_s[one], now_s))
        self._next = (place + 1) % size
        return place

    def failed(self, place: int, error: CallError, now_s: float) -> float | None:
        """Leave an endpoint alone after a failure; give how long a caller has to wait.

        It need not wait while another endpoint is free, and otherwise for the first of them. What
        no other try can mend says nothing about the endpoint's health.
        """
        if not error.retryable:
            return error.retry_after_s
        alone_s = ASIDE_S if error.retry_after_s is None else error.retry_after_s
        self._free_at_s[place] = now_s + alone_s
        wait_s = min(self._free_at_s) - now_s
        if wait_s <= 0 or error.retry_after_s is None:
            return None
        return wait_s

"""The one retry policy: full jitter, a bounded number of tries, a total deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from skillopt.errors import CallError


@dataclass(frozen=True)
class RetryPolicy:
    max_tries: int = 8
    base_s: float = 0.25
    cap_s: float = 10.0
    #: From the first try of a call to the last.
    total_s: float = 300.0

    def delay_s(self, failures: int, error: CallError, uniform: Callable[[], float]) -> float:
        """Give the wait after the n-th failure; a Retry-After is the least it can be."""
        jittered = min(self.cap_s, self.base_s * 2.0**failures) * uniform()
        return max(jittered, error.retry_after_s or 0.0)

    def allows(self, failures: int, error: CallError, elapsed_s: float, delay_s: float) -> bool:
        """Say whether another try is worth it."""
        in_time = elapsed_s + delay_s <= self.total_s
        return error.retryable and failures < self.max_tries and in_time

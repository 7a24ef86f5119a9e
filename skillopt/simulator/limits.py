"""Calls and tokens allowed in a sliding window."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class Refusal:
    limit: Literal["rpm", "tpm"]
    retry_after_s: float


@dataclass
class SlidingWindow:
    """Counts admitted calls; refused ones do not count."""

    window_s: float
    _admitted: deque[tuple[float, int]] = field(default_factory=deque)
    _tokens: int = 0

    def admit(
        self, now_s: float, tokens: int, *, rpm: int | None, tpm: int | None
    ) -> Refusal | None:
        """Admit a call, or say which limit refuses it and when to come again."""
        while self._admitted and self._admitted[0][0] <= now_s - self.window_s:
            self._tokens -= self._admitted.popleft()[1]
        if rpm is not None and len(self._admitted) >= rpm:
            leaves_at = self._admitted[len(self._admitted) - rpm][0] + self.window_s
            return Refusal("rpm", leaves_at - now_s)
        if tpm is not None and self._tokens + tokens > tpm:
            return Refusal("tpm", self._room_at(self._tokens + tokens - tpm, now_s) - now_s)
        self._admitted.append((now_s, tokens))
        self._tokens += tokens
        return None

    def _room_at(self, excess: int, now_s: float) -> float:
        for admitted_at, spent in self._admitted:
            excess -= spent
            if excess <= 0:
                return admitted_at + self.window_s
        # Larger than the limit by itself: it is refused however long one waits.
        return now_s + self.window_s

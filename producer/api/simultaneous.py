"""How much a caller has going on at a time: what lasts is counted, not timed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from producer.api.failures import Refusal

_RETRY_S = 10


class Simultaneous:
    """Not for threads: one event loop asks."""

    def __init__(self, what: str, *, per_token: int, in_all: int) -> None:
        self._what = what
        self._per_token = per_token
        self._in_all = in_all
        self._open: Counter[str] = Counter()

    def check(self, token: str) -> None:
        """Raise Refusal if another one of this token would be too many."""
        own, all_ = self._open[token], self._open.total()
        if own >= self._per_token or all_ >= self._in_all:
            raise Refusal(
                429,
                f"too_many_{self._what}",
                f"token {token!r} has {own} {self._what} open, the server {all_}",
                fix="let some of them end",
                retry_after_s=_RETRY_S,
            )

    @contextmanager
    def counted(self, token: str) -> Iterator[None]:
        self._open[token] += 1
        try:
            yield
        finally:
            self._open[token] -= 1
            if not self._open[token]:
                del self._open[token]

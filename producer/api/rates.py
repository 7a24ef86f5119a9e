"""How often something may happen, by name: a bucket each that fills again with time."""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

#: Names that are remembered; the ones that were quiet longest go first.
_MOST_NAMES: Final = 10_000
_IPV6_NETWORK_BITS: Final = 64


class Rates:
    """Not for threads: one event loop asks."""

    def __init__(self, per_minute: float, burst: float, clock: Callable[[], float]) -> None:
        self._per_s = per_minute / 60
        self._burst = max(1.0, burst)
        self._clock = clock
        #: What is left in each bucket, and when that was so.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __contains__(self, name: str) -> bool:
        """Whether something of this name happened lately."""
        return name in self._buckets

    def wait_s(self, name: str) -> float:
        """Say how long until it may happen again; 0: now."""
        left = self._left(name)
        return 0.0 if left >= 1 else (1 - left) / self._per_s

    def take(self, name: str) -> float:
        """Let it happen if it may: 0; else say how long until it may."""
        wait_s = self.wait_s(name)
        if wait_s == 0:
            self._buckets[name] = (self._left(name) - 1, self._clock())
            self._buckets.move_to_end(name)
            if len(self._buckets) > _MOST_NAMES:
                self._buckets.popitem(last=False)
        return wait_s

    def forget(self, name: str) -> None:
        self._buckets.pop(name, None)

    def _left(self, name: str) -> float:
        left, at = self._buckets.get(name, (self._burst, self._clock()))
        return min(self._burst, left + (self._clock() - at) * self._per_s)


def network_of(address: str) -> str:
    """Give what stands for one customer of a provider: an IPv4 address, a /64 of IPv6."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv4Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, _IPV6_NETWORK_BITS), strict=False))

"""Limits of backends that a person set while workers run, over those of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol, get_args

from skillopt.domain.backend import LimitName

LIMIT_NAMES: Final[tuple[LimitName, ...]] = get_args(LimitName)


class SetLimits(Protocol):
    """Workers look here every few seconds; what is not set is as their catalogue says."""

    def set(self, backend: str, changes: Mapping[LimitName, int | None]) -> None:
        """Set limits of a backend, all at once; None takes one back. Others stay."""
        ...

    def of(self, backend: str) -> dict[LimitName, int]:
        """Give the limits that are set for a backend."""
        ...

    def all(self) -> dict[str, dict[LimitName, int]]:
        """Give every backend that has a limit set, in order."""
        ...

"""What finished jobs left, and the texts that specs refer to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from skillopt.state.ports.lead import Lead


@dataclass(frozen=True)
class StoredResult:
    line: str
    body: str
    receipt: str


class Results(Protocol):
    def get(self, jobs: Sequence[str]) -> dict[str, StoredResult]:
        """Read results; a job without one is absent. Renews their TTL."""
        ...

    def forget(self, lead: Lead, jobs: Sequence[str]) -> None:
        """Remove results and this run's ledger lines of them, so that they are run again."""
        ...

    def of_skill(self, skill: str) -> list[str]:
        """Job ids of every result obtained with a document."""
        ...


class Blobs(Protocol):
    """Content-addressed bytes: the key is the sha256 of the content."""

    def put(self, contents: Sequence[bytes]) -> list[str]:
        """Store contents (or renew them) and return their hashes."""
        ...

    def get(self, hashes: Sequence[str]) -> dict[str, bytes]:
        """Read blobs; a missing or damaged one is absent. Renews their TTL."""
        ...

    def renew(self, hashes: Sequence[str]) -> set[str]:
        """Renew the TTL of blobs without reading them; gives those that are there."""
        ...

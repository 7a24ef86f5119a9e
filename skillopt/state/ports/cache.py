"""Looking through stored results, and removing them: for people, never for a decision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class CacheEntry:
    """A stored result without its body, and what is known of how it came to be."""

    job: str
    line: str
    receipt: str
    #: The document it was obtained with; None for judgements and optimizer calls.
    skill: str | None
    #: None if the job was never described (a judgement made right after its rollout).
    spec: bytes | None
    #: When it was committed, by the server's clock; None if that was not recorded.
    made_at: float | None
    expires_in_s: float
    #: Bytes of line, body, receipt and spec, without what the store needs to keep them.
    size: int


@dataclass(frozen=True)
class Removal:
    """What became of results that were to be removed; one that was not there is in neither."""

    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


class Cache(Protocol):
    """No reading here renews a TTL, and none asks the store for all at once."""

    def pages(self) -> Iterator[list[CacheEntry]]:
        """Give every result, each once, some hundreds at a time, in no order. One that comes or
        goes meanwhile may be among them or not.
        """
        ...

    def peek(self, jobs: Sequence[str]) -> dict[str, CacheEntry]:
        """Read the entries of jobs; one without a result is absent."""
        ...

    def skills(self, prefix: str) -> list[str]:
        """Give the hashes of documents with results that begin with `prefix`, in order."""
        ...

    def blob_pages(self) -> Iterator[list[int]]:
        """Give the stored size of every blob in bytes, some hundreds at a time."""
        ...

    def remove(self, jobs: Sequence[str], *, spare: Sequence[str]) -> Removal:
        """Remove results, each with its place in the index of its document.

        One that the ledger of a run in `spare` names is kept: that run goes by it. Atomic for
        some hundreds at a time.
        """
        ...

"""The server behind the state: what it is, how it keeps its data, what its clock says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

#: The oldest version whose commands the adapter can do with.
REQUIRED_VERSION: Final = (6, 2)


@dataclass(frozen=True)
class ServerFacts:
    """What a server says of itself; None where it says nothing (some providers hide settings)."""

    version: str
    #: Whether it takes writes: a replica does not.
    writable: bool
    #: Whether every write goes to a file, and when that reaches the disk.
    append_only: bool | None = None
    fsync: str | None = None
    #: What it does when its memory is full.
    eviction: str | None = None
    #: Bytes it may use (0: all there are), and those it uses.
    max_memory: int | None = None
    used_memory: int | None = None
    #: How many databases it has.
    databases: int | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """The version as numbers, as far as it has any."""
        parts: list[int] = []
        for part in self.version.split("."):
            if not (part.isascii() and part.isdigit()):
                break
            parts.append(int(part))
        return tuple(parts)


class Server(Protocol):
    """Read only: nothing here changes the server."""

    def facts(self) -> ServerFacts: ...

    def now(self) -> float:
        """Give the server's clock, in seconds since 1970: one round trip and nothing else."""
        ...

    def oldest(self, lists: Sequence[str]) -> dict[str, bytes]:
        """Give the message that has waited longest in each of the broker's lists that has any."""
        ...

    def queued(self, lists: Sequence[str]) -> dict[str, int]:
        """Give the messages that wait in each of the broker's lists, by their key."""
        ...

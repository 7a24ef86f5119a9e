"""Who may use the HTTP API: tokens, known by their hashes alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

#: viewer reads, runner also submits and controls its owner's runs, admin does everything.
TokenRole = Literal["viewer", "runner", "admin"]


@dataclass(frozen=True)
class TokenInfo:
    """What a token stands for. The token itself is nowhere: `digest` is its sha256."""

    digest: str
    name: str
    role: TokenRole
    owner: str
    #: "" for none.
    team: str
    created_at: float
    #: None: until it is revoked.
    expires_at: float | None = None


class Tokens(Protocol):
    def grant(
        self,
        digest: str,
        *,
        name: str,
        role: TokenRole,
        owner: str,
        team: str = "",
        ttl_s: float | None = None,
    ) -> TokenInfo | None:
        """Let a token in; None (and no change) if another one of that name is in force.

        With `ttl_s` it ends by itself.
        """
        ...

    def find(self, digest: str) -> TokenInfo | None:
        """Give the token with this hash, if it is in force."""
        ...

    def all(self) -> list[TokenInfo]:
        """Every token in force, by name."""
        ...

    def revoke(self, name: str) -> bool:
        """End a token at once; False if there is none of that name."""
        ...

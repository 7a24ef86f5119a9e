"""Tokens of the HTTP API, in memory."""

from __future__ import annotations

from skillopt.state.memory.tables import Tables
from skillopt.state.ports import TokenInfo, TokenRole


class MemoryTokens:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

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
        with self._tables.changed:
            held = self._named(name)
            if held is not None:
                return held if held.digest == digest else None
            now = self._tables.clock()
            ends = None if ttl_s is None else now + ttl_s
            info = TokenInfo(digest, name, role, owner, team, now, ends)
            self._tables.tokens[digest] = info
            return info

    def find(self, digest: str) -> TokenInfo | None:
        with self._tables.changed:
            info = self._tables.tokens.get(digest)
            if info is None or self._is_over(info):
                return None
            return info

    def all(self) -> list[TokenInfo]:
        with self._tables.changed:
            present = [one for one in self._tables.tokens.values() if not self._is_over(one)]
            return sorted(present, key=lambda one: one.name)

    def revoke(self, name: str) -> bool:
        with self._tables.changed:
            info = self._named(name)
            if info is None:
                return False
            del self._tables.tokens[info.digest]
            return True

    def _named(self, name: str) -> TokenInfo | None:
        return next((one for one in self.all() if one.name == name), None)

    def _is_over(self, info: TokenInfo) -> bool:
        return info.expires_at is not None and info.expires_at <= self._tables.clock()

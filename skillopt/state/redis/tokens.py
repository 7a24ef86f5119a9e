"""Tokens of the HTTP API, in Redis: their hashes and what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

import redis

from skillopt.errors import StateCorrupt
from skillopt.state import keys
from skillopt.state.ports import TokenInfo, TokenRole
from skillopt.state.redis.faults import translated
from skillopt.state.redis.replies import integer, text
from skillopt.state.redis.scripts import Scripts, milliseconds

_ROLES: Mapping[str, TokenRole] = {role: role for role in get_args(TokenRole)}


class RedisTokens:
    """Scripts grant, revoke."""

    def __init__(self, client: redis.Redis, scripts: Scripts) -> None:
        self._client = client
        self._scripts = scripts

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
        ttl = 0 if ttl_s is None else milliseconds(ttl_s)
        granted = self._scripts.call(
            "grant",
            (keys.TOKENS, keys.token(digest)),
            (keys.TOKEN_PREFIX, digest, name, role, owner, team, ttl),
        )
        return self.find(digest) if granted else None

    def find(self, digest: str) -> TokenInfo | None:
        with translated():
            fields = self._client.hgetall(keys.token(digest))
        return _info(digest, fields) if fields else None

    def all(self) -> list[TokenInfo]:
        with translated():
            digests = self._client.hvals(keys.TOKENS)
        found = (self.find(text(digest, "the hash of a token")) for digest in digests)
        return sorted((one for one in found if one is not None), key=lambda one: one.name)

    def revoke(self, name: str) -> bool:
        return bool(self._scripts.call("revoke", (keys.TOKENS,), (keys.TOKEN_PREFIX, name)))


def _info(digest: str, fields: Mapping[bytes | str, bytes | str]) -> TokenInfo:
    def field(name: str) -> str:
        return text(fields.get(name.encode()), f"{name} of a token")

    role = _ROLES.get(field("role"))
    if role is None:
        raise StateCorrupt(f"the role of token {field('name')!r} is {field('role')!r}; revoke it")
    expires = fields.get(b"expires")
    return TokenInfo(
        digest=digest,
        name=field("name"),
        role=role,
        owner=field("owner"),
        team=field("team"),
        created_at=integer(fields.get(b"created"), "created of a token") / 1000,
        expires_at=None if expires is None else integer(expires, "expires of a token") / 1000,
    )

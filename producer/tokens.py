"""Tokens of the HTTP API: making them, and telling what one stands for.

A token is 32 random bytes. Only its sha256 is stored: with so much randomness nothing can be
guessed from it, and it can be looked up at once.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from typing import Final, cast, get_args

from skillopt.config.schema import NAME_HINT, NAME_PATTERN
from skillopt.errors import InputError
from skillopt.state.ports import TokenInfo, TokenRole, Tokens

#: Lets scanners for leaked secrets know one.
PREFIX: Final = "sofl_"
_RANDOM_BYTES: Final = 32
_FORM: Final = re.compile(rf"{PREFIX}[A-Za-z0-9_-]{{43}}")
_DAY_S: Final = 86_400


@dataclass(frozen=True)
class Issued:
    """A new token. `secret` is shown to its holder once, and is nowhere else."""

    secret: str
    info: TokenInfo


def issue(
    tokens: Tokens, *, name: str, role: str, owner: str, team: str = "", days: float | None = None
) -> Issued:
    """Make a token; raises InputError if its name is taken or something of it is not usable."""
    for what, given in (("name", name), ("owner", owner), ("team", team)):
        if (given or what != "team") and not re.fullmatch(NAME_PATTERN, given):
            raise InputError(f"{what}: {given!r} is no name; {NAME_HINT}")
    roles = get_args(TokenRole)
    if role not in roles:
        raise InputError(f"role: {role!r} is not one of {', '.join(roles)}")
    if days is not None and not 0 < days <= 3650:
        raise InputError(f"days: {days!r} does not fit; give more than 0 and at most 3650")
    secret = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
    info = tokens.grant(
        digest_of(secret),
        name=name,
        role=cast(TokenRole, role),
        owner=owner,
        team=team,
        ttl_s=None if days is None else days * _DAY_S,
    )
    if info is None:
        raise InputError(
            f"a token {name!r} is in force already; give another name, or end it with "
            f"`skillopt token revoke {name}`"
        )
    return Issued(secret, info)


def recognise(tokens: Tokens, secret: str) -> TokenInfo | None:
    """Give what a token stands for; None if it is none, or not in force."""
    if not _FORM.fullmatch(secret):
        return None
    digest = digest_of(secret)
    info = tokens.find(digest)
    if info is None or not hmac.compare_digest(info.digest, digest):
        return None
    return info


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()

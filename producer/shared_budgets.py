"""What people ask of the budgets of owners and teams, and how those stand."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Final, Literal

from skillopt.config.schema import NAME_HINT, NAME_PATTERN
from skillopt.domain.usage import MICRO
from skillopt.errors import InputError
from skillopt.state.ports import Cap, Scope, Spend

SharedKind = Literal["owner", "team"]
KINDS: Final[tuple[SharedKind, ...]] = ("owner", "team")
#: What a person writes to remove a cap.
NO_CAP: Final = "none"
#: Larger figures than this are mistakes, and Redis counts no further than a few digits more.
_MOST: Final = 10**15


def read_scope(written: str) -> Scope:
    """Read `owner:NAME` or `team:NAME`; raises InputError."""
    kind, _, name = written.partition(":")
    for known in KINDS:
        if kind == known:
            if not re.fullmatch(NAME_PATTERN, name):
                raise InputError(f"{written!r}: {name!r} is no name; {NAME_HINT}")
            return Scope(known, name)
    raise InputError(f"{written!r} is neither an owner nor a team; write owner:NAME or team:NAME")


def read_caps(written: Mapping[Cap, str | None]) -> dict[Cap, int | None]:
    """Read caps that were given; None are not. Money becomes millionths of a dollar."""
    caps: dict[Cap, int | None] = {}
    for cap, text in written.items():
        if text is not None:
            caps[cap] = None if text.lower() == NO_CAP else _figure(cap, text)
    if not caps:
        raise InputError("say what to change: --max-calls, --max-tokens or --max-usd")
    return caps


def _figure(cap: Cap, text: str) -> int:
    try:
        number = Decimal(text.replace("_", ""))
    except InvalidOperation:
        number = Decimal(-1)
    is_whole = number == number.to_integral_value() if number.is_finite() else False
    usable = number.is_finite() and 0 <= number <= _MOST and (cap == "usd" or is_whole)
    if not usable:
        kind = "an amount of dollars" if cap == "usd" else "a whole number"
        raise InputError(f"--max-{cap}: {text!r} does not fit; give {kind}, or {NO_CAP} for no cap")
    scale = MICRO if cap == "usd" else 1
    return int((number * scale).to_integral_value(ROUND_HALF_UP))


def dollars_spent(spend: Spend) -> float | None:
    """Give the money of calls with a price; None if there were calls, and none of them has one."""
    made = sum(spend.calls.values()) + spend.reserved.calls
    if made and spend.unpriced_calls >= made:
        return None
    return spend.micro_usd / MICRO


def calls_confirmed(spend: Spend) -> int:
    """Count the calls that are settled with what they took."""
    return sum(spend.calls.values()) - spend.unconfirmed.calls

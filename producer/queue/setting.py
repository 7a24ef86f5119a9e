"""Limits and quotas that people set, checked before anybody goes by them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from producer.queue.fleet_page import SHOWN_LIMITS
from producer.queue.models import Quota
from skillopt.config.schema import NAME_HINT, NAME_PATTERN
from skillopt.config.suggest import did_you_mean
from skillopt.domain.backend import LimitName, Limits
from skillopt.errors import InputError
from skillopt.state.ports import LIMIT_NAMES, State


def checked_limits(
    state: State, backend: str, limits: Mapping[str, float | None]
) -> dict[LimitName, int | None]:
    """Give limits as they are stored; raises InputError for one that makes no sense.

    A backend must have a live worker, or a limit set before: a slip in its name would limit
    nothing.
    """
    known = {info.backend for info in state.fleet.workers()} | set(state.limits.all())
    if backend not in known:
        there = ", ".join(sorted(known)) or "none yet"
        raise InputError(
            f"no worker serves a backend {backend!r}; those that are served: {there}; start its "
            "worker first"
        )
    if not limits:
        raise InputError(f"no limit is given for {backend!r}; give e.g. rpm=300, or rpm=none")
    found: dict[LimitName, int | None] = {}
    for written, value in limits.items():
        name = next((one for one in LIMIT_NAMES if one == written), None)
        if name is None:
            raise InputError(
                f"{written!r} is no limit of a backend; "
                f"{did_you_mean(written, list(LIMIT_NAMES), 'limits')}"
            )
        found[name] = _whole(name, value)
    together = {**state.limits.of(backend), **found}
    try:
        Limits(**{name: value for name, value in together.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        raise InputError(
            f"limits of {backend!r}: {first['loc'][0]} {first['msg']}; give another number"
        ) from error
    return found


def _whole(name: str, value: float | None) -> int | None:
    if value is None:
        return None
    if not math.isfinite(value) or value < 1 or value != int(value):
        raise InputError(f"{name}={value!r} is no whole number from 1 on; give one, or none")
    return int(value)


def read_limits(written: Sequence[str]) -> dict[str, float | None]:
    """Read limits as a person writes them, `rpm=300` or `rpm=none`; raises InputError.

    How large they may be is for the queue to say.
    """
    found: dict[str, float | None] = {}
    for one in written:
        name, equals, text = (part.strip() for part in one.partition("="))
        digits = text.replace("_", "")
        lifted = text.lower() in ("none", "null")
        if not (equals and name and (lifted or (digits.isascii() and digits.isdigit()))):
            raise InputError(f"{one!r} is not understood; write e.g. rpm=300, or rpm=none")
        if name not in SHOWN_LIMITS:
            raise InputError(f"{one!r}: {did_you_mean(name, SHOWN_LIMITS, 'limits')}")
        found[name] = None if lifted else int(digits)
    return found


def checked_quota(quota: Quota) -> Quota:
    """Give a quota if it can be kept; raises InputError."""
    if not re.fullmatch(NAME_PATTERN, quota.owner):
        raise InputError(f"owner {quota.owner!r} is no name; {NAME_HINT}")
    for name, value, least in (
        ("max_runs", quota.max_runs, 0),
        ("max_window", quota.max_window, 1),
    ):
        if value is not None and value < least:
            raise InputError(f"{name} is {value!r}; give {least} or more, or none for no limit")
    return quota

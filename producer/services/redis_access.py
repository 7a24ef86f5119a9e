"""The shared Redis of a service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from skillopt.errors import ConfigError
from skillopt.state.urls import access_of, redacted

VARIABLE: Final = "SKILLOPT_REDIS_URL"


def without_password_in_view(url: str | None, environ: Mapping[str, str]) -> str | None:
    """Give the URL of a service's Redis.

    Raises ConfigError for a password that was given as an argument: everybody on the machine can
    read the arguments of a process for as long as it runs.
    """
    if url is not None and access_of(url).password and url != environ.get(VARIABLE):
        raise ConfigError(
            f"--redis {redacted(url)!r}: others can read the arguments of a process, so a "
            f"password does not belong there; set {VARIABLE} and leave --redis out"
        )
    return url


def shared_redis(url: str | None, environ: Mapping[str, str]) -> str:
    """Give the URL of a service that cannot do without a shared Redis; raises ConfigError."""
    found = without_password_in_view(url, environ)
    if found is None:
        raise ConfigError(
            f"a service needs the team's Redis: set {VARIABLE}, or give --redis URL; `skillopt "
            "up` starts one with everything else"
        )
    return found

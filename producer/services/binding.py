"""Where services listen: on this machine, unless somebody takes the responsibility."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import Final

from skillopt.domain.hosts import is_loopback
from skillopt.errors import ConfigError

LOOPBACK: Final = "127.0.0.1"


def require_loopback(host: str, what: str, otherwise: str) -> None:
    """Raise ConfigError for an address that others than this machine can reach."""
    if not is_loopback(host.strip("[]")):
        raise ConfigError(f"--host {host!r} would open {what} to other machines; {otherwise}")


def free_port(host: str, wanted: int, option: str) -> int:
    """Give the wanted port if it is free, any free one for 0; raises ConfigError.

    Another process may take it before it is used: whoever listens there says so then.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, wanted))
        except (OSError, OverflowError) as error:
            raise ConfigError(
                f"{option} {wanted!r}: this port cannot be had on {host!r} ({error}); give "
                "another, or 0 for any that is free"
            ) from error
        port: int = probe.getsockname()[1]
    return port

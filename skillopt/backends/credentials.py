"""The keys of backends, and where they may go; each is read here and leaves with its client only.

The catalogue is checked against the same rules when it is read. A worker checks again: what it
opens may come from a file that nobody checked.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from skillopt.domain.backend import Backend
from skillopt.domain.hosts import is_loopback, may_have_entra_token, may_have_openai_key
from skillopt.errors import ConfigError


def key_of(backend: Backend, variable: str | None, environ: Mapping[str, str]) -> str | None:
    """Read a key; None if the backend has none, ConfigError if its variable holds no usable one."""
    if not variable:
        return None
    key = environ.get(variable)
    if not key:
        raise ConfigError(
            f"backend {backend.name!r} needs the environment variable {variable!r}, "
            f"which is not set; export {variable}=…"
        )
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(
            f"the environment variable {variable!r} holds characters that no header can carry; "
            "export the key again, without line breaks"
        )
    return key


def require_encrypted(backend: Backend, url: str) -> None:
    """Raise ConfigError if a credential would travel in the clear to another machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https" and not is_loopback(host):
        raise ConfigError(
            f"backend {backend.name!r} would send its credential unencrypted to {host!r}; use https"
        )


def require_openai_host(backend: Backend, url: str) -> None:
    """Raise ConfigError if a key of OpenAI would go to a host that nobody named for it."""
    if not may_have_openai_key(url, backend.allowed_hosts):
        raise ConfigError(
            f"backend {backend.name!r} would send its key to {urlsplit(url).hostname!r}; list the "
            "host under allowed_hosts, or use the kind openai_compatible"
        )


def require_entra_host(backend: Backend, url: str) -> None:
    """Raise ConfigError if a token of Entra ID would go to a host that is not Azure's."""
    host = urlsplit(url).hostname or ""
    if not may_have_entra_token(host):
        raise ConfigError(
            f"backend {backend.name!r} would send a token of Entra ID to {host!r}, which is not a "
            "host of Azure; correct the endpoint, or use auth: api_key"
        )

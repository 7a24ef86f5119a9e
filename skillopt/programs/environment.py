"""The environment of an agent program: an allow-list, never the worker's own."""

from __future__ import annotations

from collections.abc import Mapping

#: Needed to find programs, to read text and to reach the provider; nothing that identifies anyone.
PASSED_ON = (
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
)

#: Programs that phone home would do so in every run.
QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DO_NOT_TRACK": "1",
    "NO_COLOR": "1",
}

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every program gets of the worker's environment."""
    passed = {name: environ[name] for name in PASSED_ON if name in environ}
    direct = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    hosts = [host.strip() for host in direct.split(",") if host.strip()]
    # A provider on this machine must not be looked for through a proxy.
    every = ",".join(dict.fromkeys([*hosts, *_LOOPBACK]))
    return {**passed, **QUIET, "NO_PROXY": every, "no_proxy": every}

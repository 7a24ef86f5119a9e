"""What every entry of the catalogue must fulfil, whatever its kind."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from skillopt.config.origins import KeyPath
from skillopt.config.spellings import SECRET_KEYS
from skillopt.domain.backend import BackendKind, Params
from skillopt.domain.hosts import is_loopback

#: Says what is wrong at a key of the entry.
Fault = Callable[[KeyPath, str], None]

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
#: Headers by which secrets travel: `Authorization`, `X-Api-Key`, `X-Auth-Token` …
_SECRET_HEADER = re.compile(
    r"(?:.*[-_])?(?:api_?key|key|auth|authorization|cookie|credentials?|password|secret|token)",
    re.IGNORECASE,
)
_WOULD_STORE = "would store a secret; remove it and name the key's variable as api_key_env"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+\Z")
#: Parts of a request that are not the catalogue's to set: replies would not be understood.
_OUR_BODY_KEYS = frozenset(
    {
        "background",
        "conversation",
        "input",
        "messages",
        "model",
        "n",
        "previous_response_id",
        "stream",
        "tools",
    }
)
_WITHOUT_SEED: tuple[BackendKind, ...] = ("azure_responses", "openai_responses")


def check_key_variable(variable: str | None, fault: Fault, at: KeyPath = ("api_key_env",)) -> None:
    # What does not look like a name may be the key itself: it is not shown.
    if variable is not None and not _VARIABLE_NAME.match(variable):
        fault(at, "is not the name of an environment variable; give its name, never the key itself")


def check_url(
    url: str,
    fault: Fault,
    *,
    sends: str | None,
    at: KeyPath = ("base_url",),
    encrypt: str = "use https, or remove api_key_env",
    write: str = "write it like https://host/v1 or http://127.0.0.1:8000/v1",
) -> str | None:
    """Give the host of a URL, None if it is not usable.

    `sends` names what would travel there; `encrypt` and `write` are the fixes.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        fault(at, f"is not a URL; {write}")
    elif parts.username or parts.password or parts.query or parts.fragment:
        fault(
            at,
            "holds a user name, password, query or fragment; give scheme, host, port and path "
            "only, and the key's variable as api_key_env",
        )
    elif parts.scheme == "http" and sends and not is_loopback(host):
        fault(at, f"would send {sends} unencrypted to {host!r}; {encrypt}")
    else:
        return host
    return None


def check_params(kind: BackendKind, params: Params, fault: Fault) -> None:
    _check_headers(params, fault)
    for key in sorted(_OUR_BODY_KEYS & params.extra_body.keys()):
        fault(("params", "extra_body", key), "is set by skillopt for each call; remove it")
    for key in sorted(SECRET_KEYS & params.extra_body.keys()):
        fault(("params", "extra_body", key), _WOULD_STORE)
    if params.seed is not None and kind in _WITHOUT_SEED:
        fault(
            ("params", "seed"),
            f"{params.seed!r} cannot be sent, the Responses API has no seed; remove it",
        )


def _check_headers(params: Params, fault: Fault) -> None:
    for header, value in params.extra_headers.items():
        at = ("params", "extra_headers", header)
        if _SECRET_HEADER.fullmatch(header):
            fault(at, _WOULD_STORE)
        elif not _HEADER_NAME.match(header):
            fault(at, f"{header!r} is not the name of a header; give letters, digits and '-'")
        elif not (value.isascii() and value.isprintable()):
            fault(at, f"{value!r} cannot be sent in a header; give printable ASCII characters")

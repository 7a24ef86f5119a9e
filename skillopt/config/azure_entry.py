"""The part of an entry that says how a deployment on Azure is reached."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from skillopt.config.entry_checks import Fault, check_key_variable, check_url
from skillopt.config.entry_models import AzureEntry
from skillopt.config.origins import KeyPath
from skillopt.domain.backend import AzureAccess, AzureEndpoint, BackendKind
from skillopt.domain.hosts import AZURE_DOMAINS, may_have_entra_token

KEY_VARIABLE = "AZURE_OPENAI_API_KEY"
SCOPE = "https://cognitiveservices.azure.com/.default"
API_VERSIONS: dict[BackendKind, str] = {"azure_chat": "2024-10-21", "azure_responses": "v1"}

_DEPLOYMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_API_VERSION = re.compile(r"(?:\d{4}-\d{2}-\d{2}(?:-preview)?|v1|preview)\Z")
_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_SCOPE = re.compile(r"(?:https|api)://[^\s?#]+/\.default\Z")
_ADDRESS = "give the resource's address, like https://NAME.openai.azure.com"


def read_access(kind: BackendKind, entry: AzureEntry, fault: Fault) -> AzureAccess | None:
    """Read how a deployment is reached; None if there are faults in it."""
    faults: list[KeyPath] = []

    def report(at: KeyPath, text: str) -> None:
        faults.append(at)
        fault(at, text)

    _check_words(entry, report)
    _check_auth(entry, report)
    listed = entry.endpoints if isinstance(entry.endpoints, list) else []
    if not listed:
        report(("endpoints",), "is not a list of addresses; write [https://NAME.openai.azure.com]")
    endpoints = [
        endpoint
        for place, written in enumerate(listed)
        if (endpoint := _endpoint(entry, written, ("endpoints", place), report))
    ]
    addresses = [endpoint.url for endpoint in endpoints]
    for address in sorted({one for one in addresses if addresses.count(one) > 1}):
        report(("endpoints",), f"{address!r} is given twice; remove one")
    if faults:
        return None
    return AzureAccess(
        endpoints=tuple(endpoints),
        auth=entry.auth,
        api_version=entry.api_version or API_VERSIONS[kind],
        scope=entry.scope or SCOPE,
        client_id=entry.client_id,
    )


def _check_words(entry: AzureEntry, report: Fault) -> None:
    if not _DEPLOYMENT.match(entry.deployment):
        report(
            ("deployment",),
            f"{entry.deployment!r} is not the name of a deployment; give letters, digits, '.', "
            "'_' and '-' only",
        )
    if entry.api_version is not None and not _API_VERSION.match(entry.api_version):
        report(
            ("api_version",),
            f"{entry.api_version!r} is not a version of the API; give a date like '2024-10-21', "
            "or v1 or preview for the paths under /openai/v1",
        )
    if entry.client_id is not None and not _CLIENT_ID.match(entry.client_id):
        report(
            ("client_id",),
            f"{entry.client_id!r} is not the id of an identity; give its client id, a UUID",
        )
    if entry.scope is not None and not _SCOPE.match(entry.scope):
        report(("scope",), f"{entry.scope!r} is not a scope; give one like {SCOPE}")


def _check_auth(entry: AzureEntry, report: Fault) -> None:
    """Refuse what the chosen way to sign in would ignore."""
    check_key_variable(entry.api_key_env, report)
    unused = {
        "api_key": ("scope", "client_id"),
        "azure_cli": ("api_key_env", "client_id"),
        "default": ("api_key_env",),
        "managed_identity": ("api_key_env",),
    }[entry.auth]
    for key in unused:
        if getattr(entry, key) is not None:
            report((key,), f"is not used with auth {entry.auth!r}; remove it, or change auth")


def _endpoint(
    entry: AzureEntry, written: object, at: KeyPath, report: Fault
) -> AzureEndpoint | None:
    variable: object = None
    url = written
    if isinstance(written, dict):
        url, variable = written.get("url"), written.get("api_key_env")
        for key in sorted(set(map(str, written)) - {"url", "api_key_env"}):
            report((*at, key), "is not a known key; give url and api_key_env only")
    if not isinstance(url, str) or not isinstance(variable, str | None):
        # It is not shown: what stands in a wrong place may be a key.
        report(at, f"is not an endpoint; {_ADDRESS}, or {{url: …, api_key_env: …}}")
        return None
    if entry.auth == "api_key":
        check_key_variable(variable, report, (*at, "api_key_env"))
        variable = variable or entry.api_key_env or KEY_VARIABLE
    elif variable is not None:
        fault = f"is not used with auth {entry.auth!r}; remove it, or change auth"
        report((*at, "api_key_env"), fault)
    sends = f"the key of {variable!r}" if variable else "a token of Entra ID"
    host = check_url(url, report, sends=sends, at=at, encrypt="use https", write=_ADDRESS)
    if host is None:
        return None
    if "/openai" in urlsplit(url).path:
        report(at, f"{url!r} goes too far; {_ADDRESS}, without what begins with /openai")
    if entry.auth != "api_key" and not may_have_entra_token(host):
        report(
            at,
            f"would send a token of Entra ID to {host!r}, which is not a host of Azure; give an "
            f"address below {', '.join(AZURE_DOMAINS[:3])}, or use auth: api_key",
        )
    return AzureEndpoint(url=url.rstrip("/"), api_key_env=variable)

"""Which hosts may be sent what: one rule for every credential."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from urllib.parse import urlsplit

#: Where Azure serves models. A token of Entra ID opens more than models, so it goes nowhere else.
AZURE_DOMAINS = (
    "openai.azure.com",
    "cognitiveservices.azure.com",
    "services.ai.azure.com",
    "openai.azure.us",
    "cognitiveservices.azure.us",
    "services.ai.azure.us",
    "openai.azure.cn",
    "cognitiveservices.azure.cn",
)

#: Where Anthropic serves its API, and the one host that is sent its keys unless others are named.
ANTHROPIC_HOST = "api.anthropic.com"

#: The same for OpenAI, whose regions have hosts below it.
OPENAI_HOST = "api.openai.com"


def is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def may_have_entra_token(host: str) -> bool:
    """Say whether a token of Entra ID may be sent there: to Azure, or nowhere off this machine."""
    named = host.lower().rstrip(".")
    return is_loopback(named) or any(named.endswith(f".{domain}") for domain in AZURE_DOMAINS)


def may_have_anthropic_key(url: str, besides: Collection[str]) -> bool:
    """Say whether a key for Messages may be sent there: by https to Anthropic or to a host that
    the catalogue names `besides` it, or nowhere off this machine.
    """
    return _may_have_key(url, {ANTHROPIC_HOST, *(name.lower() for name in besides)})


def may_have_openai_key(url: str, besides: Collection[str]) -> bool:
    """The same for a key of OpenAI."""
    host = urlsplit(url).hostname or ""
    own = {host} if host.endswith(f".{OPENAI_HOST}") else {OPENAI_HOST}
    return _may_have_key(url, own.union(name.lower() for name in besides))


def _may_have_key(url: str, hosts: Collection[str]) -> bool:
    parts = urlsplit(url)
    host = parts.hostname or ""
    return is_loopback(host) or (parts.scheme == "https" and host in hosts)

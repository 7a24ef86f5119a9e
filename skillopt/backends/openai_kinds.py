"""From a catalogue entry to a live backend, for every kind that the openai client serves."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from skillopt.backends.credentials import (
    key_of,
    require_encrypted,
    require_entra_host,
    require_openai_host,
)
from skillopt.backends.entra_tokens import EntraTokens, open_tokens
from skillopt.backends.openai_backend import Api, Endpoint, OpenAIBackend
from skillopt.backends.openai_chat import ChatCompletions
from skillopt.backends.openai_client import open_azure_client, open_client
from skillopt.backends.openai_responses import Responses
from skillopt.domain.backend import AzureAccess, Backend
from skillopt.domain.fingerprint import digest, text_hash
from skillopt.errors import ConfigError

#: Said here, or the client would let a variable of the worker's environment redirect the calls of
#: a backend whose fingerprint means this address.
OPENAI_URL = "https://api.openai.com/v1"

#: Servers that ask for no key still want the header to be there.
NO_KEY = "none"


def open_chat(backend: Backend, environ: Mapping[str, str]) -> OpenAIBackend:
    """Chat Completions at one address."""
    return _at_one_address(backend, environ, ChatCompletions(backend))


def open_responses(backend: Backend, environ: Mapping[str, str]) -> OpenAIBackend:
    """Responses at one address."""
    return _at_one_address(backend, environ, Responses(backend))


def open_azure_chat(backend: Backend, environ: Mapping[str, str]) -> OpenAIBackend:
    """Chat Completions of a deployment on Azure."""
    return _on_azure(backend, environ, ChatCompletions(backend))


def open_azure_responses(backend: Backend, environ: Mapping[str, str]) -> OpenAIBackend:
    """Responses of a deployment on Azure."""
    return _on_azure(backend, environ, Responses(backend))


def _at_one_address(backend: Backend, environ: Mapping[str, str], api: Api) -> OpenAIBackend:
    key = key_of(backend, backend.api_key_env, environ)
    url = backend.base_url
    at_openai = backend.kind in ("openai_chat", "openai_responses")
    if url is None:
        if not at_openai:
            raise ConfigError(f"backend {backend.name!r} has no base_url; give one")
        url = OPENAI_URL
    if key is not None:
        require_encrypted(backend, url)
        if at_openai:
            require_openai_host(backend, url)
    client = open_client(url, key or NO_KEY, backend.timeout_s)
    # The key's hash, so that the name of a hold says nothing about the key.
    credential = text_hash(f"{client.base_url}|{key}")[:16]
    return OpenAIBackend(api, backend, [Endpoint(_host(url), client, lambda: key)], credential)


def _on_azure(backend: Backend, environ: Mapping[str, str], api: Api) -> OpenAIBackend:
    access = backend.azure
    if access is None:
        raise ConfigError(f"backend {backend.name!r} has no endpoints; give one")
    for endpoint in access.endpoints:
        require_encrypted(backend, endpoint.url)
    if access.auth == "api_key":
        return _with_keys(backend, access, environ, api)
    for endpoint in access.endpoints:
        require_entra_host(backend, endpoint.url)
    return with_tokens(
        backend, access, open_tokens(access.auth, access.client_id, access.scope), api
    )


def _with_keys(
    backend: Backend, access: AzureAccess, environ: Mapping[str, str], api: Api
) -> OpenAIBackend:
    endpoints, keyed = [], []
    for endpoint in access.endpoints:
        key = key_of(backend, endpoint.api_key_env, environ)
        if key is None:
            raise ConfigError(
                f"backend {backend.name!r} names no key for {endpoint.url!r}; give api_key_env"
            )
        client = open_azure_client(endpoint.url, key, access.api_version, backend.timeout_s)
        endpoints.append(Endpoint(_host(endpoint.url), client, _always(key)))
        keyed.append([endpoint.url, key])
    return OpenAIBackend(api, backend, endpoints, digest(keyed)[:16], first=_anywhere(endpoints))


def with_tokens(
    backend: Backend, access: AzureAccess, tokens: EntraTokens, api: Api
) -> OpenAIBackend:
    """Make a backend whose endpoints share one source of tokens, which is closed with it."""
    endpoints = [
        Endpoint(
            _host(endpoint.url),
            open_azure_client(endpoint.url, tokens, access.api_version, backend.timeout_s),
            lambda: tokens.last,
        )
        for endpoint in access.endpoints
    ]
    signed_in = [access.auth, access.client_id, access.scope]
    credential = digest([*signed_in, *(endpoint.url for endpoint in access.endpoints)])[:16]
    return OpenAIBackend(
        api,
        backend,
        endpoints,
        credential,
        first=_anywhere(endpoints),
        close_also=tokens.close,
    )


def _anywhere(endpoints: list[Endpoint]) -> int:
    """Let workers that start together begin at different endpoints."""
    return random.randrange(len(endpoints))


def _always(key: str) -> Callable[[], str]:
    return lambda: key


def _host(url: str) -> str:
    return urlsplit(url).netloc

"""The openai client as we use it: nothing but what the catalogue says reaches the wire.

By itself the client takes organisation, project, base URL, keys and any header from the worker's
environment, retries, follows redirects to other hosts, and takes a proxy even to this machine.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

import openai

from skillopt.backends.answer_size import bound
from skillopt.domain.hosts import is_loopback

#: What proves who asks: a key, or where a fresh token comes from.
Secret = str | Callable[[], Awaitable[str]]

#: Values of `api_version` that mean the paths under `/openai/v1`; any other is a date.
_V1_QUERIES: Mapping[str, Mapping[str, object]] = {
    "v1": {},
    "preview": {"api-version": "preview"},
}


def open_client(
    base_url: str, secret: Secret, timeout_s: float, query: Mapping[str, object] | None = None
) -> openai.AsyncOpenAI:
    """Connect to OpenAI or to a server like it."""
    return _alone(
        openai.AsyncOpenAI(
            base_url=base_url,
            api_key=secret,
            default_query=query,
            max_retries=0,  # there is one retry policy, and it is the gateway's
            timeout=timeout_s,
            http_client=_http(base_url),
        )
    )


def open_azure_client(
    endpoint: str, secret: Secret, api_version: str, timeout_s: float
) -> openai.AsyncOpenAI:
    """Connect to one resource on Azure; the version decides under which paths."""
    if api_version in _V1_QUERIES:
        return open_client(f"{endpoint}/openai/v1", secret, timeout_s, _V1_QUERIES[api_version])
    return _alone(
        openai.AsyncAzureOpenAI(
            azure_endpoint=endpoint,
            api_version=api_version,
            api_key=secret if isinstance(secret, str) else None,
            azure_ad_token_provider=None if isinstance(secret, str) else secret,
            max_retries=0,
            timeout=timeout_s,
            http_client=_http(endpoint),
        )
    )


def _http(url: str) -> openai.DefaultAioHttpClient:
    """Connect directly to what is on this machine, else through the proxy of the environment."""
    parts = urlsplit(url)
    direct: dict[str, None] = {}
    if is_loopback(parts.hostname or ""):
        direct = {f"{parts.scheme}://{parts.netloc}": None}
    hooks = {"response": [bound]}
    return openai.DefaultAioHttpClient(follow_redirects=False, mounts=direct, event_hooks=hooks)


def _alone(client: openai.AsyncOpenAI) -> openai.AsyncOpenAI:
    """Take back what the client has read from the environment."""
    client.organization = None
    client.project = None
    client.admin_api_key = None
    # Headers of OPENAI_CUSTOM_HEADERS, which could even replace the credential. There is no public
    # way to leave them out; a test over the wire tells if this one ends.
    client._custom_headers = {}
    return client

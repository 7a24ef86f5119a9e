"""Anthropic's Messages API over HTTP: Anthropic itself, gateways that speak it, the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from skillopt.backends.answer_size import bounded
from skillopt.backends.anthropic_errors import Refused, translate, without_answer
from skillopt.backends.anthropic_reply import read_reply
from skillopt.backends.anthropic_request import request_body
from skillopt.backends.base import ChatReply
from skillopt.backends.credentials import key_of
from skillopt.backends.failures import without_key
from skillopt.backends.redaction import reply_without
from skillopt.domain.backend import Backend, Params
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.hosts import ANTHROPIC_HOST, is_loopback, may_have_anthropic_key
from skillopt.domain.item import Tool
from skillopt.domain.messages import SAMPLE_HEADER, Message
from skillopt.domain.reply_schema import ReplySchema
from skillopt.errors import CallError, ConfigError

API_VERSION = "2023-06-01"


class AnthropicMessages:
    """One model of one Messages server; must be made inside a running event loop."""

    def __init__(self, backend: Backend, api_key: str | None) -> None:
        """Refuse, with a ConfigError, what the API or the key's safety does not allow."""
        self._backend = backend
        self._api_key = api_key
        self._url = messages_url(backend.base_url)
        self._proxy = _proxy_for(self._url)
        self._check()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0),  # the gateway decides how many calls run
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=backend.timeout_s),
        )
        # The key's hash, so that the name of a hold says nothing about the key.
        self.credential = text_hash(f"{self._url}|{api_key}")[:16]

    def _check(self) -> None:
        backend, key = self._backend, self._api_key
        if backend.params.max_output_tokens is None:
            raise ConfigError(
                f"backend {backend.name!r} has no params.max_output_tokens, which the Messages "
                "API requires; give one"
            )
        if key is not None and not may_have_anthropic_key(self._url, backend.allowed_hosts):
            raise ConfigError(
                f"backend {backend.name!r} would send its key to {backend.base_url!r}; use https "
                "and list the host under allowed_hosts, or set api_key_env: null"
            )

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Tool] = (),
        sample: int = 0,
        params: Params | None = None,
        schema: ReplySchema | None = None,
    ) -> ChatReply:
        backend = self._backend.using(params)
        body = request_body(backend, messages, tools, schema)
        try:
            async with self._session.post(
                self._url,
                json=body,
                headers=self._headers(sample, backend.params),
                proxy=self._proxy,
                allow_redirects=False,  # a key goes where the catalogue says, and nowhere else
            ) as answer:
                parts = [part async for part in bounded(answer.content.iter_any())]
        except (TimeoutError, aiohttp.ClientError) as error:
            raise without_answer(error) from None
        content = b"".join(parts)
        if answer.status != 200:
            refused = Refused(answer.status, answer.headers, content)
            form_asked = schema is not None and backend.reply_form != "none"
            raise translate(refused, backend.model, self._api_key, form_asked=form_asked)
        try:
            return reply_without(read_reply(content, backend.model), self._api_key)
        except CallError as error:
            raise error.told_as(without_key(str(error), self._api_key)) from None

    async def close(self) -> None:
        await self._session.close()

    def _headers(self, sample: int, params: Params) -> dict[str, str]:
        named = {
            "anthropic-version": API_VERSION,
            **{name.lower(): value for name, value in params.extra_headers.items()},
            SAMPLE_HEADER: str(sample),
        }
        return named if self._api_key is None else {**named, "x-api-key": self._api_key}


def open_messages(backend: Backend, environ: Mapping[str, str]) -> AnthropicMessages:
    """Connect to a Messages server with the key of the environment, if it has one."""
    return AnthropicMessages(backend, key_of(backend, backend.api_key_env, environ))


def messages_url(base_url: str | None) -> str:
    """Give the address of the API; a base URL may end in /v1 or leave it to us."""
    base = (base_url or f"https://{ANTHROPIC_HOST}").rstrip("/")
    return f"{base}/messages" if base.endswith("/v1") else f"{base}/v1/messages"


def _proxy_for(url: str) -> str | None:
    """Take the proxy of the environment, but never for what stays on this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)

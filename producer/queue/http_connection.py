"""Requests to the HTTP API: with the token, with patience, to nowhere else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

from producer.queue.http_replies import require_success
from skillopt.domain.hosts import is_loopback
from skillopt.errors import ConfigError, StateUnavailable

API: Final = "/api/v1"
#: A submission loads a spec and its tasks; an export packs a whole run.
_TIMEOUT: Final = httpx2.Timeout(60.0, connect=10.0)
LONG_TIMEOUT: Final = httpx2.Timeout(600.0, connect=10.0)
_TRIES: Final = 4
_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 20.0
_PASSING: Final = frozenset({429, 502, 503, 504})
_CHUNK: Final = 1 << 16

Query = Mapping[str, str | int | float | bool | list[str]]


class HttpConnection:
    """One server. The token goes in a header to this server alone: no redirect is followed.

    What the server could not take now is asked again, and what broke on the way if that is safe.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        plain_http: bool = False,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self.url = checked_url(url, plain_http=plain_http)
        self._wait = wait
        headers = {"User-Agent": "skillopt-fleet"}
        if token is not None:
            headers["Authorization"] = f"Bearer {_checked_token(token)}"
        self.client = httpx2.Client(
            base_url=self.url + API,
            headers=headers,
            timeout=_TIMEOUT,
            # Neither proxies nor .netrc decide where a token goes, unless a proxy is needed to
            # reach another machine.
            trust_env=not is_loopback(urlsplit(self.url).hostname or ""),
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,  # noqa: ANN401 - any JSON value
        repeatable: bool = True,
    ) -> httpx2.Response:
        """Give a successful answer; raises the error that the server tells."""

        def send() -> httpx2.Response:
            return self.client.request(method, path, params=query, json=body)

        return self._patiently(send, repeatable=repeatable)

    def upload(self, path: str, archive: Path, query: Query) -> httpx2.Response:
        """Send a file. It may be repeated: the same content is the same run."""

        def send() -> httpx2.Response:
            with archive.open("rb") as content:
                return self.client.post(
                    path,
                    params=query,
                    content=content,
                    headers={
                        "Content-Type": "application/zip",
                        "Content-Length": str(archive.stat().st_size),
                    },
                    timeout=LONG_TIMEOUT,
                )

        return self._patiently(send, repeatable=True)

    def download(self, path: str, query: Query, target: Path) -> None:
        """Write an answer into a file."""

        def send() -> httpx2.Response:
            with self.client.stream("GET", path, params=query, timeout=LONG_TIMEOUT) as response:
                if response.is_success:
                    with target.open("wb") as file:
                        for chunk in response.iter_bytes(_CHUNK):
                            file.write(chunk)
                else:
                    response.read()
                return response

        self._patiently(send, repeatable=True)

    def close(self) -> None:
        self.client.close()

    def _patiently(
        self, send: Callable[[], httpx2.Response], *, repeatable: bool
    ) -> httpx2.Response:
        wait_s = _FIRST_WAIT_S
        for left in reversed(range(_TRIES)):
            try:
                response = send()
            except httpx2.ConnectError as error:
                if not left:
                    raise self.away(error) from error
            except httpx2.TransportError as error:
                if not left or not repeatable:
                    raise self.away(error) from error
            else:
                if not left or response.status_code not in _PASSING:
                    require_success(response)
                    return response
                wait_s = max(wait_s, _asked_for(response))
            self._wait(min(wait_s, _LONGEST_WAIT_S))
            wait_s *= 2
        raise AssertionError("unreachable")

    def away(self, error: httpx2.TransportError) -> StateUnavailable:
        return StateUnavailable(
            f"the server at {self.url!r} cannot be reached: {error or type(error).__name__}; is "
            "`skillopt serve` up, and the URL right?"
        )


def checked_url(url: str, *, plain_http: bool) -> str:
    """Give the URL without a slash at its end; raises ConfigError if a token may not go there."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        host, parts = "", urlsplit("")
    if parts.scheme not in {"http", "https"} or not host or parts.query or parts.fragment:
        raise ConfigError(
            f"the URL {_without_login(url)!r} is not that of a server; write it like "
            "https://queue.example.org"
        )
    if parts.username is not None or parts.password is not None:
        raise ConfigError(
            f"the URL {_without_login(url)!r} holds a name or password; take it out, and give the "
            "token in SKILLOPT_TOKEN"
        )
    if parts.scheme == "http" and not is_loopback(host) and not plain_http:
        raise ConfigError(
            f"the URL {url!r} is not encrypted: everybody on the way could read the token; use "
            "https, or set SKILLOPT_PLAIN_HTTP=1 in a network that you trust"
        )
    return url.rstrip("/")


def _without_login(url: str) -> str:
    before, at, behind = url.rpartition("@")
    return f"{before.partition('://')[0]}://***@{behind}" if at else url


def _checked_token(token: str) -> str:
    token = token.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            "the token (SKILLOPT_TOKEN) is empty or holds a character that no token has; copy it "
            "anew from `skillopt token create`"
        )
    return token


def _asked_for(response: httpx2.Response) -> float:
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdigit() else 0.0

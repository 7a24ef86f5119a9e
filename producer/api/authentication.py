"""Nothing under /api answers without a token, whether a route exists or not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from anyio import to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from producer.api.caller import Caller
from producer.api.failures import Refusal, refusal_of
from producer.api.headers import API_PATH
from producer.api.rates import Rates, network_of
from producer.api.settings import ApiSettings
from producer.tokens import digest_of, recognise
from skillopt.errors import StateError
from skillopt.state.ports import Tokens

HEALTH_PATH: Final = "/api/v1/healthz"
_SCHEME: Final = "bearer"


class Authentication:
    """Finds out who asks, and how often; the caller is left in the request's state.

    Whoever sends wrong tokens is refused before they are looked at, once there were too many from
    one address. A token that was valid lately is looked at all the same: others behind the same
    address (a proxy) must not be locked out.
    """

    def __init__(
        self, app: ASGIApp, tokens: Tokens, settings: ApiSettings, clock: Callable[[], float]
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._failures = Rates(settings.failures_per_minute, settings.failure_burst, clock)
        self._requests = Rates(settings.requests_per_minute, settings.request_burst, clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        is_open = not path.startswith(API_PATH) or path == HEALTH_PATH
        if scope["type"] == "lifespan" or (scope["type"] == "http" and is_open):
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._caller(scope)
        except Refusal as refusal:
            await refusal.response()(scope, receive, send)
            return
        scope.setdefault("state", {})["caller"] = caller
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        secret = _bearer(Headers(scope=scope))
        digest = digest_of(secret)
        network = network_of(scope["client"][0] if scope.get("client") else "")
        wait_s = self._failures.wait_s(network)
        if wait_s and digest not in self._requests:
            raise _too_many("requests without a valid token", wait_s)
        try:
            info = await to_thread.run_sync(recognise, self._tokens, secret)
        except StateError as error:
            raise refusal_of(error) from error
        if info is None:
            self._failures.take(network)
            self._requests.forget(digest)
            raise Refusal(
                401,
                "no_token" if not secret else "bad_token",
                "this needs a token" if not secret else "the token is not valid",
                fix="send `Authorization: Bearer TOKEN` with one of `skillopt token create`",
            )
        wait_s = self._requests.take(digest)
        if wait_s:
            raise _too_many(f"requests of token {info.name!r}", wait_s)
        return Caller.of(info)


def _bearer(headers: Headers) -> str:
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == _SCHEME else ""


def _too_many(what: str, wait_s: float) -> Refusal:
    return Refusal(
        429,
        "too_many_requests",
        f"too many {what}",
        fix=f"wait {wait_s:.0f} s, as Retry-After says",
        retry_after_s=wait_s,
    )

"""Several endpoints of one deployment, and tokens of Entra ID, over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from azure.core.credentials import AccessTokenInfo
from azure.core.exceptions import ClientAuthenticationError
from canned_provider import KEY, PROMPT, CannedProvider, answering, canned, dropping, failing
from wire_kinds import AZURE, AZURE_CHAT, AZURE_RESPONSES, SCOPE, Wire, named

from skillopt.backends.base import ChatBackend
from skillopt.backends.endpoint_ring import ASIDE_S
from skillopt.backends.entra_tokens import EntraTokens
from skillopt.backends.openai_backend import Api, OpenAIBackend
from skillopt.backends.openai_chat import ChatCompletions
from skillopt.backends.openai_kinds import with_tokens
from skillopt.backends.openai_responses import Responses
from skillopt.backends.registry import open_backend
from skillopt.domain.backend import AzureAccess, AzureEndpoint, Backend
from skillopt.errors import AuthFailed, CallError, RateLimited, UnknownModel
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.server import running

on_azure = pytest.mark.parametrize(**named(AZURE))
either_api = pytest.mark.parametrize(**named((AZURE_CHAT, AZURE_RESPONSES)))


def outcomes(open_chat: Callable[[], ChatBackend], calls: int) -> list[Any]:
    """Ask several times through one backend; give replies and errors as they came."""

    async def ask_all() -> list[Any]:
        chat = open_chat()
        seen: list[Any] = []
        try:
            for _ in range(calls):
                try:
                    seen.append(await chat.complete(PROMPT))
                except CallError as error:
                    seen.append(error)
        finally:
            await chat.close()
        return seen

    return asyncio.run(ask_all())


def asked(backend: Backend, calls: int) -> list[Any]:
    return outcomes(lambda: open_backend(backend, {"PLANTED_KEY": KEY}), calls)


def counts(*providers: CannedProvider) -> list[int]:
    return [len(provider.received) for provider in providers]


@either_api
def test_calls_go_round_the_endpoints(wire: Wire) -> None:
    hello = canned(wire.answer("hello"))
    with answering(hello) as a, answering(hello) as b, answering(hello) as c:
        replies = asked(wire.backend(a.root_url, b.root_url, c.root_url), 9)
        assert counts(a, b, c) == [3, 3, 3]
    assert [reply.text for reply in replies] == ["hello"] * 9


@either_api
@pytest.mark.parametrize(
    "broken", [failing(500), failing(503), failing(429), failing(429, Retry_After="60"), dropping]
)
def test_after_a_failure_the_next_try_goes_to_another_endpoint(wire: Wire, broken) -> None:
    with answering(broken) as bad, answering(canned(wire.answer("hello"))) as good:
        seen = asked(wire.backend(bad.root_url, good.root_url), 6)
        assert len(bad.received) == 1, "an endpoint that failed is left alone"
        assert len(good.received) == 5
    [failure] = [one for one in seen if isinstance(one, CallError)]
    assert failure.retryable
    assert failure.retry_after_s is None, "nobody has to wait while another endpoint is free"
    assert f"127.0.0.1:{bad.port}: " in str(failure)


@either_api
def test_one_call_is_one_request_however_many_endpoints_there_are(wire: Wire) -> None:
    with answering(failing(500)) as a, answering(failing(500)) as b:
        [failure] = asked(wire.backend(a.root_url, b.root_url), 1)
        assert sum(counts(a, b)) == 1
    assert isinstance(failure, CallError)


def test_a_limit_of_all_endpoints_holds_until_the_first_is_free() -> None:
    wire = AZURE_RESPONSES
    limited = [failing(429, Retry_After="40"), failing(429, Retry_After="20")]
    with answering(limited[0]) as a, answering(limited[1]) as b:
        first, second, third = asked(wire.backend(a.root_url, b.root_url), 3)
        assert counts(a, b) == [1, 2], "the third call goes where the wait is shorter"
    assert first.retry_after_s is None
    assert all(isinstance(one, RateLimited) for one in (first, second, third))
    assert 0 < second.retry_after_s <= 20


@either_api
@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [(401, "invalid_api_key", AuthFailed), (404, "DeploymentNotFound", UnknownModel)],
)
def test_a_mistake_in_one_resource_is_named_and_not_hidden(wire, status, code, expected) -> None:
    with (
        answering(failing(status, code=code)) as wrong,
        answering(canned(wire.answer("hello"))) as right,
    ):
        seen = asked(wire.backend(wrong.root_url, right.root_url), 4)
        assert counts(wrong, right) == [2, 2]
    failures = [one for one in seen if isinstance(one, CallError)]
    assert [type(one) for one in failures] == [expected, expected]
    assert all(f"127.0.0.1:{wrong.port}" in str(one) for one in failures)


def test_an_endpoint_comes_back_when_its_time_is_over() -> None:
    wire, now = AZURE_RESPONSES, [0.0]
    with answering(failing(500)) as bad, answering(canned(wire.answer("hello"))) as good:

        def opened() -> OpenAIBackend:
            chat = open_backend(wire.backend(bad.root_url, good.root_url), {"PLANTED_KEY": KEY})
            assert isinstance(chat, OpenAIBackend)
            chat._clock = lambda: now[0]
            return chat

        async def ask_twice() -> None:
            chat = opened()
            for _ in range(2):
                for _ in range(4):
                    try:
                        await chat.complete(PROMPT)
                    except CallError:
                        continue
                now[0] += ASIDE_S
            await chat.close()

        asyncio.run(ask_twice())
        assert counts(bad, good) == [2, 6]


def test_each_endpoint_is_sent_its_own_key_only() -> None:
    wire = AZURE_RESPONSES
    hello = canned(wire.answer("hello"))
    with answering(hello) as a, answering(hello) as b:
        access = wire.backend(a.root_url, b.root_url).azure
        assert access is not None
        own = tuple(
            AzureEndpoint(url=endpoint.url, api_key_env=f"KEY_{place}")
            for place, endpoint in enumerate(access.endpoints)
        )
        backend = wire.backend(a.root_url, azure=access.model_copy(update={"endpoints": own}))
        outcomes(lambda: open_backend(backend, {"KEY_0": "key-of-a", "KEY_1": "key-of-b"}), 4)
        assert {one.headers["authorization"] for one in a.received} == {"Bearer key-of-a"}
        assert {one.headers["authorization"] for one in b.received} == {"Bearer key-of-b"}


# --- Entra ID -----------------------------------------------------------------------------------


class FakeCredential:
    def __init__(self, token: str = "token-of-entra", failure: Exception | None = None) -> None:
        self.token = token
        self.failure = failure
        self.fetched = 0
        self.closed = 0

    async def get_token_info(self, *scopes: str, options: Any = None) -> AccessTokenInfo:
        assert scopes == (SCOPE,)
        if self.failure is not None:
            raise self.failure
        self.fetched += 1
        return AccessTokenInfo(self.token, 4_000_000_000)

    async def close(self) -> None:
        self.closed += 1

    async def __aenter__(self) -> FakeCredential:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def signed_in(wire: Wire, credential: FakeCredential, *roots: str) -> Callable[[], OpenAIBackend]:
    access = AzureAccess(
        endpoints=tuple(AzureEndpoint(url=url) for url in roots),
        auth="azure_cli",
        api_version=wire.api_version,
        scope=SCOPE,
    )
    backend = wire.backend(*roots, azure=access)
    api: Api = Responses(backend) if wire.speaks_responses else ChatCompletions(backend)
    return lambda: with_tokens(backend, access, EntraTokens(credential, SCOPE, "azure_cli"), api)


@on_azure
def test_all_endpoints_share_one_token_which_is_the_only_credential_sent(
    wire: Wire, monkeypatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "ambient")
    monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "ambient")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: ambient")
    hello, credential = canned(wire.answer("hello")), FakeCredential()
    with answering(hello) as a, answering(hello) as b:
        replies = outcomes(signed_in(wire, credential, a.root_url, b.root_url), 6)
        received = [*a.received, *b.received]
    assert [reply.text for reply in replies] == ["hello"] * 6
    assert {one.headers["authorization"] for one in received} == {"Bearer token-of-entra"}
    assert not any("api-key" in one.headers for one in received)
    assert "ambient" not in str(received)
    assert (credential.fetched, credential.closed) == (1, 1)


@on_azure
def test_a_token_that_cannot_be_had_makes_no_request(wire: Wire) -> None:
    credential = FakeCredential(failure=ClientAuthenticationError("AADSTS50034 no such user"))
    with answering(canned(wire.answer("hello"))) as provider:
        [failure] = outcomes(signed_in(wire, credential, provider.root_url), 1)
        assert provider.received == []
    assert type(failure) is AuthFailed
    assert "AADSTS50034" in str(failure)
    assert "az login" in str(failure)


@on_azure
def test_a_token_that_an_error_quotes_is_hidden(wire: Wire) -> None:
    credential = FakeCredential(token="planted/opaque+token")
    quoting = failing(400, "planted/opaque+token is no good")
    with answering(quoting) as provider:
        [failure] = outcomes(signed_in(wire, credential, provider.root_url), 1)
    assert "is no good" in str(failure)
    assert "planted" not in str(failure)


@on_azure
def test_the_simulator_takes_a_token_as_azure_does(wire: Wire) -> None:
    with running(SimulatorOptions(api_key="token-of-entra", models=("d-1",))) as simulator:
        right, wrong = FakeCredential(), FakeCredential(token="another")
        [reply] = outcomes(signed_in(wire, right, simulator.root_url), 1)
        [failure] = outcomes(signed_in(wire, wrong, simulator.root_url), 1)
    assert reply.text
    assert type(failure) is AuthFailed

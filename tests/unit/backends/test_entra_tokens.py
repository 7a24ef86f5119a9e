"""Tokens of Entra ID, through the real azure-identity: where they come from, and what can fail."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from azure.core.credentials import AccessTokenInfo
from azure.core.exceptions import ClientAuthenticationError, ServiceRequestError
from azure.identity import CredentialUnavailableError

from skillopt.backends.entra_tokens import EntraTokens, open_tokens
from skillopt.domain.backend import AzureAuth
from skillopt.errors import AuthFailed, CallError, ConfigError, ConnectionFailed, ServerFailed

SCOPE = "https://cognitiveservices.azure.com/.default"
CLIENT_ID = "01234567-89ab-cdef-0123-456789abcdef"
FAR = 4_000_000_000  # seconds since 1970


class FakeCredential:
    """Gives numbered tokens, or fails."""

    def __init__(self, *, expires_on: int = FAR, failure: Exception | None = None) -> None:
        self.expires_on = expires_on
        self.failure = failure
        self.asked: list[str] = []
        self.closed = False

    async def get_token_info(self, *scopes: str, options: Any = None) -> AccessTokenInfo:
        self.asked.extend(scopes)
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure
        return AccessTokenInfo(f"token-{len(self.asked)}", self.expires_on)

    async def close(self) -> None:
        self.closed = True

    async def __aenter__(self) -> FakeCredential:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def test_one_token_is_fetched_for_many_calls_at_once() -> None:
    credential = FakeCredential()

    async def many() -> list[str]:
        tokens = EntraTokens(credential, SCOPE, "default")
        return [*await asyncio.gather(*(tokens() for _ in range(20))), await tokens()]

    assert set(asyncio.run(many())) == {"token-1"}
    assert credential.asked == [SCOPE]


def test_a_token_about_to_expire_is_fetched_anew() -> None:
    credential = FakeCredential(expires_on=1)

    async def twice() -> list[str]:
        tokens = EntraTokens(credential, SCOPE, "default")
        first = await tokens()
        assert tokens.last == first
        return [first, await tokens()]

    assert asyncio.run(twice()) == ["token-1", "token-2"]


def test_closing_closes_the_credential() -> None:
    credential = FakeCredential()
    asyncio.run(EntraTokens(credential, SCOPE, "default").close())
    assert credential.closed


@pytest.mark.parametrize(
    ("failure", "expected", "said"),
    [
        (CredentialUnavailableError("no account planted-secret"), AuthFailed, "az login"),
        (
            ClientAuthenticationError("AADSTS7000215: Invalid client secret planted-secret"),
            AuthFailed,
            r"\(AADSTS7000215\)",
        ),
        (ServiceRequestError("planted-secret refused"), ConnectionFailed, "ServiceRequestError"),
        (KeyError("planted-secret"), ServerFailed, "not usable .KeyError"),
    ],
)
def test_a_failure_says_what_to_do_and_not_what_the_service_said(failure, expected, said) -> None:
    tokens = EntraTokens(FakeCredential(failure=failure), SCOPE, "azure_cli")
    with pytest.raises(expected, match=said) as raised:
        asyncio.run(tokens())
    assert "planted" not in str(raised.value)


# --- the real credentials -----------------------------------------------------------------------


def fetched(auth: AzureAuth, client_id: str | None = None) -> str:
    async def fetch() -> str:
        tokens = open_tokens(auth, client_id, SCOPE)
        try:
            return await tokens()
        finally:
            await tokens.close()

    return asyncio.run(fetch())


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """Leave nothing of this machine's own identities to be found."""
    for name in ("IDENTITY_ENDPOINT", "IDENTITY_HEADER", "MSI_ENDPOINT", "MSI_SECRET"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AZURE_FEDERATED_TOKEN_FILE", "AZURE_TOKEN_CREDENTIALS", "IMDS_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    return monkeypatch


def put_az(folder: Path, script: str) -> None:
    """Put a program called az on the path; it logs what it was asked."""
    az = folder / "az"
    az.write_text(f'#!/bin/sh\necho "$@" >> "{folder}/asked"\n{script}\n')
    az.chmod(0o700)


def test_the_azure_cli_is_asked_for_the_scope(bare, tmp_path) -> None:
    answer = {"accessToken": "of-az", "expires_on": FAR, "expiresOn": "2096-10-02 07:06:40.000000"}
    put_az(tmp_path, f"echo '{json.dumps(answer)}'")
    assert fetched("azure_cli") == "of-az"
    asked = (tmp_path / "asked").read_text()
    assert "account get-access-token" in asked
    assert "https://cognitiveservices.azure.com" in asked


@pytest.mark.parametrize(
    "script", ["echo 'Please run az login to setup account.' >&2; exit 1", "echo no json", None]
)
def test_an_azure_cli_that_cannot_sign_in_is_a_refused_credential(bare, tmp_path, script) -> None:
    if script:
        put_az(tmp_path, script)
    with pytest.raises(AuthFailed, match="run `az login` as the user that the worker runs as"):
        fetched("azure_cli")


class Metadata(ThreadingHTTPServer):
    """A machine's service that hands out tokens of its managed identity."""

    status = 200
    asked: list[str]


@contextmanager
def metadata_service(status: int = 200) -> Iterator[Metadata]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            service.asked.append(self.path)
            token = {
                "access_token": "of-machine",
                "expires_on": str(FAR),
                "token_type": "Bearer",
                "resource": "https://cognitiveservices.azure.com",
            }
            refused = {"error": "invalid_request", "error_description": "Identity not found"}
            body = json.dumps(token if status == 200 else refused).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    service = Metadata(("127.0.0.1", 0), Handler)
    service.asked = []
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield service
    finally:
        service.shutdown()
        thread.join()
        service.server_close()


def at(service: Metadata) -> str:
    return f"http://127.0.0.1:{service.server_port}"


@pytest.mark.parametrize("auth", ["managed_identity", "default"])
def test_a_managed_identity_is_asked_of_the_machine(bare, auth) -> None:
    with metadata_service() as service:
        bare.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", at(service))
        assert fetched(auth, CLIENT_ID) == "of-machine"
    assert all(path.startswith("/metadata/identity/oauth2/token?") for path in service.asked)
    assert f"client_id={CLIENT_ID}" in service.asked[-1]
    assert "resource=https://cognitiveservices.azure.com" in unquote(service.asked[-1])


def test_the_identity_of_an_app_service_is_used_too(bare) -> None:
    with metadata_service() as service:
        bare.setenv("IDENTITY_ENDPOINT", f"{at(service)}/token")
        bare.setenv("IDENTITY_HEADER", "header")
        assert fetched("managed_identity") == "of-machine"
    assert "client_id" not in service.asked[0]


def test_a_client_id_of_the_environment_chooses_no_identity(bare) -> None:
    bare.setenv("AZURE_CLIENT_ID", CLIENT_ID)
    with metadata_service() as service:
        bare.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", at(service))
        fetched("managed_identity")
    assert "client_id" not in service.asked[0]


def test_a_machine_without_the_identity_is_a_refused_credential(bare) -> None:
    with metadata_service(400) as service:
        bare.setenv("AZURE_POD_IDENTITY_AUTHORITY_HOST", at(service))
        with pytest.raises(AuthFailed, match="name a user-assigned one with client_id"):
            fetched("managed_identity", CLIENT_ID)


def test_a_sign_in_that_cannot_be_set_up_is_a_mistake_of_the_configuration(bare) -> None:
    bare.setenv("AZURE_TOKEN_CREDENTIALS", "nonsense")
    with pytest.raises(ConfigError, match="auth 'default' is not possible here"):
        fetched("default")


def test_a_service_that_is_away_is_not_a_refused_credential() -> None:
    failure = ClientAuthenticationError("busy")
    failure.status_code = 503
    tokens = EntraTokens(FakeCredential(failure=failure), SCOPE, "managed_identity")
    with pytest.raises(CallError) as raised:
        asyncio.run(tokens())
    assert type(raised.value) is ServerFailed

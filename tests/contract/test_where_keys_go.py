"""A key goes to the host that the catalogue names for it, encrypted, and nowhere else."""

from __future__ import annotations

import asyncio

import pytest
from canned_provider import KEY, answering, canned
from wire_kinds import AZURE, CHAT, COMPATIBLE, HTTP_WIRES, MESSAGES, RESPONSES, Wire, ask, named

from skillopt.backends.registry import open_backend
from skillopt.domain.backend import AzureAccess, Backend
from skillopt.errors import BadRequest, CallError, ConfigError, ConnectionFailed

every_kind = pytest.mark.parametrize(**named(HTTP_WIRES))
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


def opened(backend: Backend, key: str = KEY) -> None:
    async def open_and_close() -> None:
        await open_backend(backend, {"PLANTED_KEY": key}).close()

    asyncio.run(open_and_close())


@every_kind
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_key_nowhere(wire: Wire, status: int) -> None:
    with answering(canned(wire.answer("hello"))) as elsewhere:
        moved = canned({}, status=status, Location=f"{elsewhere.root_url}{wire.path}")
        with answering(moved) as provider:
            with pytest.raises(BadRequest, match=rf"{status}.*correct base_url"):
                ask(wire.backend(provider.root_url))
            assert len(provider.received) == 1
        assert elsewhere.received == []


@every_kind
def test_no_key_travels_unencrypted_to_another_machine(wire: Wire) -> None:
    backend = wire.backend("http://llm.example.org", allowed_hosts=("llm.example.org",))
    with pytest.raises(ConfigError, match="use https"):
        opened(backend)


@pytest.mark.parametrize(**named((CHAT, RESPONSES, MESSAGES)))
@pytest.mark.parametrize(
    "host", ["llm.example.org", "api.openai.com.example.org", "xapi.openai.com", "openai.com"]
)
def test_a_vendors_key_goes_to_the_vendor_or_to_a_host_that_was_named(
    wire: Wire, host: str
) -> None:
    with pytest.raises(ConfigError, match=r"would send its key to .*allowed_hosts"):
        opened(wire.backend(f"https://{host}"))
    opened(wire.backend(f"https://{host}", allowed_hosts=(host,)))
    with pytest.raises(ConfigError, match="allowed_hosts"):
        opened(wire.backend(f"https://{host}", allowed_hosts=("other.example.org",)))


@pytest.mark.parametrize(**named((CHAT, RESPONSES)))
@pytest.mark.parametrize("host", ["api.openai.com", "eu.api.openai.com"])
def test_openai_and_its_regions_get_their_key(wire: Wire, host: str) -> None:
    opened(wire.backend(f"https://{host}"))


def test_a_compatible_server_gets_the_key_that_was_named_for_it() -> None:
    opened(COMPATIBLE.backend("https://llm.example.org"))


@pytest.mark.parametrize(**named(AZURE))
@pytest.mark.parametrize("host", ["llm.example.org", "openai.azure.com.example.org"])
def test_a_token_of_entra_goes_to_azure_only(wire: Wire, host: str) -> None:
    keyed = wire.backend(f"https://{host}").azure
    assert keyed is not None
    signed_in = AzureAccess(**{**keyed.model_dump(), "auth": "azure_cli"})
    with pytest.raises(ConfigError, match="not a host of Azure"):
        opened(wire.backend(f"https://{host}", azure=signed_in))


@every_kind
@pytest.mark.parametrize("key", ["planted\nkey", "planted\r\nX-Evil: 1", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(wire: Wire, key: str) -> None:
    with pytest.raises(ConfigError, match="'PLANTED_KEY' holds characters") as caught:
        opened(wire.backend("http://127.0.0.1:9"), key)
    assert key not in str(caught.value)


@every_kind
def test_what_stays_on_this_machine_takes_no_proxy(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(canned({"error": "a proxy"}, status=418)) as proxy:
        for variable in PROXIES:
            monkeypatch.setenv(variable, proxy.root_url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        with answering(canned(wire.answer("hello"))) as provider:
            assert ask(wire.backend(provider.root_url)).text == "hello"
        assert proxy.received == []


@every_kind
def test_other_machines_are_reached_through_the_proxy_of_the_environment(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(canned({}, status=502)) as proxy:
        for variable in PROXIES:
            monkeypatch.setenv(variable, proxy.root_url)
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        backend = wire.backend("https://llm.example.org", allowed_hosts=("llm.example.org",))
        # The proxy knows no CONNECT: that it was asked shows in what went wrong, not in a name
        # that could not be resolved.
        with pytest.raises(CallError) as raised:
            ask(backend)
    assert type(raised.value) is ConnectionFailed
    assert "Proxy" in str(raised.value)
    assert KEY not in str(raised.value)

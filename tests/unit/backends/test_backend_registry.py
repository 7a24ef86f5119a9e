from __future__ import annotations

import asyncio
import sys
import tomllib
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import get_args

import pytest

from skillopt.backends.openai_backend import OpenAIBackend
from skillopt.backends.registry import BUILT_IN, GROUP, open_backend
from skillopt.domain.backend import AzureAccess, AzureEndpoint, Backend, BackendKind, Params
from skillopt.errors import ConfigError

KEYED = Backend(name="gpt", kind="openai_chat", model="m", api_key_env="MY_KEY")


async def opened(backend: Backend, **environ: str) -> OpenAIBackend:
    chat = open_backend(backend, environ)
    assert isinstance(chat, OpenAIBackend)
    await chat.close()
    return chat


@pytest.mark.parametrize("environ", [{}, {"MY_KEY": ""}])
def test_a_missing_key_names_the_variable_and_the_fix(environ) -> None:
    with pytest.raises(ConfigError, match=r"'gpt' needs .* 'MY_KEY'.*export MY_KEY="):
        open_backend(KEYED, environ)


@pytest.mark.parametrize("kind", ["openai_compatible", "simulated"])
def test_a_backend_without_an_address_is_refused(kind) -> None:
    with pytest.raises(ConfigError, match="'local' has no base_url"):
        open_backend(Backend(name="local", kind=kind, model="m"), {})


def test_calls_of_one_key_at_one_address_are_held_together_and_no_others() -> None:
    at = KEYED.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})

    async def credentials() -> list[str]:
        chats = [
            await opened(KEYED, MY_KEY="one"),
            await opened(KEYED.model_copy(update={"model": "other"}), MY_KEY="one"),
            await opened(KEYED, MY_KEY="two"),
            await opened(at, MY_KEY="one"),
        ]
        return [chat.credential for chat in chats]

    first, same, other_key, other_address = asyncio.run(credentials())
    assert first == same
    assert len({first, other_key, other_address}) == 3


def test_the_name_of_a_credential_does_not_hold_the_key() -> None:
    chat = asyncio.run(opened(KEYED, MY_KEY="abc"))
    assert "abc" not in chat.credential
    assert len(chat.credential) == 16


def test_keys_are_read_from_the_given_environment_only(monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "of this process")
    with pytest.raises(ConfigError, match="'MY_KEY', which is not set"):
        open_backend(KEYED, {})


@pytest.mark.parametrize("kind", ["openai_chat", "openai_responses", "openai_compatible"])
def test_a_key_is_not_sent_unencrypted_to_another_machine(kind) -> None:
    plain = KEYED.model_copy(update={"kind": kind, "base_url": "http://example.org/v1"})
    with pytest.raises(ConfigError, match=r"'gpt' would send .* unencrypted to 'example.org'"):
        open_backend(plain, {"MY_KEY": "one"})


def on_azure(auth: str, *urls: str) -> Backend:
    endpoints = tuple(AzureEndpoint(url=url, api_key_env="MY_KEY") for url in urls)
    access = AzureAccess(endpoints=endpoints, auth=auth, api_version="v1", scope="s")
    return Backend(name="az", kind="azure_responses", model="d", azure=access)


@pytest.mark.parametrize("auth", ["api_key", "azure_cli", "default", "managed_identity"])
def test_no_credential_for_azure_is_sent_unencrypted(auth) -> None:
    urls = ("https://a.openai.azure.com", "http://b.openai.azure.com")
    with pytest.raises(ConfigError, match=r"unencrypted to 'b\.openai\.azure\.com'; use https"):
        open_backend(on_azure(auth, *urls), {"MY_KEY": "one"})


@pytest.mark.parametrize("auth", ["azure_cli", "default", "managed_identity"])
@pytest.mark.parametrize(
    "host", ["example.org", "openai.azure.com", "openai.azure.com.example.org"]
)
def test_a_token_of_entra_id_goes_to_azure_only(auth, host) -> None:
    with pytest.raises(ConfigError, match=f"token of Entra ID to '{host}', which is not a host"):
        open_backend(on_azure(auth, f"https://{host}"), {})


def test_every_endpoint_has_its_own_key() -> None:
    backend = on_azure("api_key", "https://a.openai.azure.com", "https://b.openai.azure.com")
    assert backend.azure is not None
    keyed = backend.azure.model_copy(
        update={
            "endpoints": (
                AzureEndpoint(url="https://a.openai.azure.com", api_key_env="KEY_A"),
                AzureEndpoint(url="https://b.openai.azure.com", api_key_env="KEY_B"),
            )
        }
    )
    backend = backend.model_copy(update={"azure": keyed})
    assert backend.key_variables == ("KEY_A", "KEY_B")
    with pytest.raises(ConfigError, match="needs the environment variable 'KEY_B'"):
        open_backend(backend, {"KEY_A": "one"})


def test_where_a_deployment_is_reached_is_not_in_the_fingerprint_but_the_deployment_is() -> None:
    backend = on_azure("azure_cli", "https://a.openai.azure.com")
    elsewhere = on_azure("api_key", "https://b.openai.azure.com")
    assert backend.fingerprint == elsewhere.fingerprint
    others = [
        backend.model_copy(update={"model": "e"}),
        backend.model_copy(update={"kind": "azure_chat"}),
        backend.model_copy(update={"params": Params(temperature=1)}),
    ]
    assert len({backend.fingerprint, *(other.fingerprint for other in others)}) == 4


# --- entry points -------------------------------------------------------------------------------


def test_the_package_declares_each_kind_as_an_entry_point() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"][GROUP] == BUILT_IN
    assert set(BUILT_IN) == set(get_args(BackendKind))


@pytest.mark.parametrize("value", BUILT_IN.values())
def test_what_the_package_declares_exists(value) -> None:
    assert callable(EntryPoint("kind", value, GROUP).load())


def declare(folder: Path, package: str, value: str) -> None:
    """Write what an installed distribution leaves on the path."""
    info = folder / f"{package}-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nsimulated = {value}\n")


def test_an_installed_package_can_serve_a_kind(tmp_path, monkeypatch) -> None:
    declare(tmp_path, "other-backends", "other_backends:connect")
    code = "def connect(backend, environ):\n    return (backend.name, environ)\n"
    (tmp_path / "other_backends.py").write_text(code)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *without_this_package()])
    backend = Backend(name="mine", kind="simulated", model="m")
    assert open_backend(backend, {"A": "b"}) == ("mine", {"A": "b"})


def test_a_kind_that_two_packages_declare_is_refused(tmp_path, monkeypatch) -> None:
    declare(tmp_path, "one", "one:connect")
    declare(tmp_path, "two", "two:connect")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *without_this_package()])
    with pytest.raises(ConfigError, match=r"more than once .*: one:connect, two:connect; uninst"):
        open_backend(Backend(name="mine", kind="simulated", model="m"), {})


def without_this_package() -> list[str]:
    """The path without the place where this package says what it declares."""
    declared = entry_points(group=GROUP)
    places = {str(point.dist.locate_file("")) for point in declared if point.dist is not None}
    return [place for place in sys.path if str(Path(place)) not in places]

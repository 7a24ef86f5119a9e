"""Entries of backends on Azure, and of the Responses API."""

from __future__ import annotations

import pytest
from config_workspace import resolve_entry as entry

from skillopt.config.catalogue import require_credentials
from skillopt.domain.backend import AzureAccess, AzureEndpoint
from skillopt.errors import ConfigError

SECRET = "planted/opaque+key=="
A, B = "https://a.openai.azure.com", "https://b.cognitiveservices.azure.com"
SCOPE = "https://cognitiveservices.azure.com/.default"
CLIENT_ID = "01234567-89ab-cdef-0123-456789abcdef"


def azure(workspace, keys: str, kind: str = "azure_responses"):
    return entry(workspace, f"{{kind: {kind}, deployment: d-1, endpoints: ['{A}'], {keys}}}")


@pytest.mark.parametrize(
    ("kind", "api_version"), [("azure_chat", "2024-10-21"), ("azure_responses", "v1")]
)
def test_a_deployment_and_its_endpoints_are_enough(workspace, kind, api_version) -> None:
    backend = entry(workspace, f"{{kind: {kind}, deployment: d-1, endpoints: ['{A}/', '{B}']}}")
    assert (backend.model, backend.revision, backend.base_url) == ("d-1", "", None)
    assert backend.key_variables == ()
    assert backend.azure == AzureAccess(
        endpoints=(AzureEndpoint(url=A), AzureEndpoint(url=B)),
        auth="default",
        api_version=api_version,
        scope=SCOPE,
    )


def test_everything_about_the_sign_in_can_be_said(workspace) -> None:
    backend = azure(
        workspace,
        f"auth: managed_identity, client_id: {CLIENT_ID}, api_version: 2025-04-01, "
        "scope: 'https://ai.azure.com/.default'",
    )
    assert backend.azure is not None
    assert backend.azure.client_id == CLIENT_ID
    assert backend.azure.api_version == "2025-04-01"
    assert backend.azure.scope == "https://ai.azure.com/.default"


def test_keys_belong_to_all_endpoints_or_to_each(workspace) -> None:
    assert azure(workspace, "auth: api_key").key_variables == ("AZURE_OPENAI_API_KEY",)
    assert azure(workspace, "auth: api_key, api_key_env: MINE").key_variables == ("MINE",)
    backend = entry(
        workspace,
        "{kind: azure_chat, deployment: d, auth: api_key, api_key_env: MINE, "
        f"endpoints: [{{url: '{A}', api_key_env: KEY_A}}, '{B}']}}",
    )
    assert backend.key_variables == ("KEY_A", "MINE")
    with pytest.raises(ConfigError) as caught:
        require_credentials([backend], {})
    assert "'KEY_A' is not set" in str(caught.value)
    assert "'MINE' is not set" in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("auth: az", "auth: 'az' is not one of api_key, azure_cli, default, managed_identity"),
        ("auth: azure_cli, api_key_env: X", "api_key_env is not used with auth 'azure_cli'; rem"),
        ("auth: api_key, client_id: x", "client_id is not used with auth 'api_key'; remove it"),
        (f"auth: azure_cli, client_id: {CLIENT_ID}", "client_id is not used with auth 'azure_cli"),
        ("auth: api_key, scope: x", "scope is not used with auth 'api_key'; remove it"),
        ("client_id: someone", "client_id: 'someone' is not the id of an identity; give its cli"),
        ("scope: models", f"scope: 'models' is not a scope; give one like {SCOPE}"),
        ("api_version: newest", "api_version: 'newest' is not a version of the API; give a date"),
        ("model: m", "backends.gpt.model is not a known key"),
        ("base_url: 'https://x'", "backends.gpt.base_url is not a known key"),
        ("params: {seed: 7}", "params.seed: 7 cannot be sent, the Responses API has no seed; rem"),
        ("params: {extra_body: {input: x}}", "params.extra_body.input is set by skillopt for ea"),
    ],
)
def test_a_wrong_key_names_line_key_and_fix(workspace, keys, message) -> None:
    with pytest.raises(ConfigError) as caught:
        azure(workspace, keys)
    assert "my-backends.yaml:2: backends.gpt." in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("endpoints", "message"),
    [
        ("[]", "endpoints is not a list of addresses; write [https://NAME"),
        (f"'{A}'", "endpoints is not a list of addresses; write [https://NAME"),
        ("[host]", "endpoints[0] is not a URL; give the resource's address"),
        ("[7]", "endpoints[0] is not an endpoint; give the resource's address, like https://NAME"),
        (
            f"[{{address: '{A}'}}]",
            "endpoints[0].address is not a known key; give url and api_key_e",
        ),
        (f"['{A}', '{A}/']", f"endpoints: '{A}' is given twice; remove one"),
        (f"['{A}/openai/v1']", f"endpoints[0]: '{A}/openai/v1' goes too far; give the resource's"),
        ("['http://a.openai.azure.com']", "would send a token of Entra ID unencrypted to 'a.ope"),
        ("['https://example.org']", "would send a token of Entra ID to 'example.org', which is n"),
        ("['https://openai.azure.com.evil.org']", "to 'openai.azure.com.evil.org', which is not"),
        (f"[{{url: '{A}', api_key_env: X}}]", "[0].api_key_env is not used with auth 'default'"),
    ],
)
def test_a_wrong_endpoint_names_line_place_and_fix(workspace, endpoints, message) -> None:
    with pytest.raises(ConfigError) as caught:
        entry(workspace, f"{{kind: azure_chat, deployment: d, endpoints: {endpoints}}}")
    assert "my-backends.yaml:2: backends.gpt.endpoints" in str(caught.value)
    assert message in str(caught.value)


def test_a_key_goes_to_any_host_but_not_unencrypted(workspace) -> None:
    keyed = "{{kind: azure_chat, deployment: d, auth: api_key, endpoints: ['{}']}}"
    assert entry(workspace, keyed.format("https://gateway.example.org/team")).azure is not None
    assert entry(workspace, keyed.format("http://127.0.0.1:8000")).azure is not None
    with pytest.raises(ConfigError, match="key of 'AZURE_OPENAI_API_KEY' unencrypted to 'gatew"):
        entry(workspace, keyed.format("http://gateway.example.org"))


@pytest.mark.parametrize("deployment", ["a/b", "", "a b", "../x", "?q"])
def test_a_deployment_cannot_change_the_path(workspace, deployment) -> None:
    text = f"{{kind: azure_chat, deployment: '{deployment}', endpoints: ['{A}']}}"
    with pytest.raises(ConfigError, match=r"deployment: .* is not the name of a deployment"):
        entry(workspace, text)


@pytest.mark.parametrize(
    "endpoint",
    [
        f"'https://user:{SECRET}@a.openai.azure.com'",
        f"'{A}?key={SECRET}'",
        f"{{url: '{A}', api_key_env: '{SECRET}'}}",
        f"{{url: '{A}', api_key: '{SECRET}'}}",
        f"['{SECRET}']",
    ],
)
def test_a_secret_in_an_endpoint_is_refused_and_never_shown(workspace, endpoint) -> None:
    keys = f"kind: azure_chat, deployment: d, auth: api_key, endpoints: [{endpoint}]"
    with pytest.raises(ConfigError) as caught:
        entry(workspace, f"{{{keys}}}")
    assert SECRET not in str(caught.value)


def test_openai_responses_has_the_keys_of_openai_chat(workspace) -> None:
    backend = entry(workspace, "{kind: openai_responses, model: m-1}")
    assert (backend.kind, backend.api_key_env) == ("openai_responses", "OPENAI_API_KEY")
    chat = entry(workspace, "{kind: openai_chat, model: m-1}")
    assert backend.fingerprint != chat.fingerprint
    with pytest.raises(ConfigError, match="would send the key of 'OPENAI_API_KEY' unencrypted"):
        entry(workspace, "{kind: openai_responses, model: m, base_url: 'http://example.org/v1'}")

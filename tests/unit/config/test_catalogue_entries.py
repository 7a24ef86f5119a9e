from __future__ import annotations

import pytest
from config_workspace import resolve_entry as entry

from skillopt.domain.backend import Limits
from skillopt.domain.usage import Price
from skillopt.errors import ConfigError

SECRET = "sk-very-secret-value"


def test_openai_chat_has_defaults(workspace):
    backend = entry(workspace, "{kind: openai_chat, model: m-1}")
    assert backend.api_key_env == "OPENAI_API_KEY"
    assert backend.base_url is None
    assert backend.price is None
    assert backend.revision == ""


def test_all_keys_of_an_entry_are_taken_over(workspace):
    backend = entry(
        workspace,
        "{kind: openai_chat, model: m-1, base_url: 'https://host/v1/', api_key_env: MY_VAR, "
        "allowed_hosts: [host], structured_output: json_object, "
        "limits: {concurrency: 3, min_concurrency: 2, rpm: 9, tpm: 99}, "
        "price: {input: 1, output: 2.5, cached_input: 0.1}, "
        "params: {temperature: 0, max_output_tokens: 10, extra_headers: {x-team: a}}, "
        "timeout_s: 9}",
    )
    assert backend.base_url == "https://host/v1"
    assert backend.api_key_env == "MY_VAR"
    assert backend.limits == Limits(concurrency=3, min_concurrency=2, rpm=9, tpm=99)
    assert backend.price == Price(input=1, output=2.5, cached_input=0.1)
    assert backend.params.temperature == 0
    assert backend.timeout_s == 9
    assert backend.allowed_hosts == ("host",)
    assert backend.structured_output == "json_object"


def test_the_revision_of_a_compatible_server_follows_its_url(workspace):
    def revision(url):
        return entry(
            workspace, f"{{kind: openai_compatible, model: m, base_url: '{url}'}}"
        ).revision

    assert revision("http://127.0.0.1:1/v1") == revision("http://127.0.0.1:1/v1/")
    assert revision("http://127.0.0.1:1/v1") != revision("http://127.0.0.1:2/v1")
    assert (
        entry(
            workspace,
            "{kind: openai_compatible, model: m, base_url: 'http://h/v1', revision: w2}",
        ).revision
        == "w2"
    )


def test_a_simulated_backend_needs_nothing(workspace):
    backend = entry(workspace, "{kind: simulated}")
    assert (backend.model, backend.base_url, backend.revision) == ("sim", None, "published")
    assert backend.price == Price(input=0, output=0)
    assert backend.api_key_env is None


def test_a_simulated_backend_takes_the_url_from_the_environment(workspace):
    backend = entry(workspace, "{kind: simulated}", {"SIM_URL": "http://127.0.0.1:9/v1"})
    assert backend.base_url == "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("written", "price", "subscription"),
    [
        ("0", Price(input=0, output=0), False),
        ("0.0", Price(input=0, output=0), False),
        ("subscription", None, True),
        ("{input: 1, output: 2}", Price(input=1, output=2), False),
    ],
)
def test_prices_have_three_forms(workspace, written, price, subscription):
    backend = entry(workspace, f"{{kind: openai_chat, model: m, price: {written}}}")
    assert (backend.price, backend.subscription) == (price, subscription)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{kind: openai_chat}", "backends.gpt.model is missing; add it"),
        ("{kind: openai_compatible, model: m}", "backends.gpt.base_url is missing; add it"),
        ("{model: m}", "backends.gpt.kind is missing; give one of "),
        (
            "{kind: openai_caht, model: m}",
            "kind: 'openai_caht' is not known; did you mean 'openai_ch",
        ),
        (
            "{kind: openai_chat, modle: m}",
            "backends.gpt.modle is not a known key; did you mean 'model'?",
        ),
        (
            "{kind: openai_chat, model: m, limits: {concurency: 3}}",
            "backends.gpt.limits.concurency is not a known key; did you mean 'concurrency'?",
        ),
        (
            "{kind: openai_chat, model: m, limits: {rpm: 0}}",
            "backends.gpt.limits.rpm: 0 is too small; give a whole number of at least 1",
        ),
        (
            "{kind: openai_chat, model: m, limits: {tpm: lots}}",
            "backends.gpt.limits.tpm: 'lots' is not an integer; give a whole number",
        ),
        (
            "{kind: openai_chat, model: m, limits: {concurrency: 4, min_concurrency: 5}}",
            "backends.gpt.limits.min_concurrency: 5 is more than limits.concurrency, which is 4; "
            "give at most 4",
        ),
        (
            "{kind: openai_chat, model: m, params: {temperature: hot}}",
            "backends.gpt.params.temperature: 'hot' is not a number; give a number of at least 0 "
            "and at most 2",
        ),
        (
            "{kind: openai_chat, model: m, price: 3}",
            "backends.gpt.price: 3 is not understood; give {input: …, output: …}",
        ),
        (
            "{kind: openai_chat, model: m, price: {input: 1}}",
            "backends.gpt.price.output is missing; add it",
        ),
        (
            "{kind: openai_chat, model: m, price: {input: 1, output: 1e300}}",
            "price.output: 1e+300 is too large",
        ),
        (
            "{kind: openai_chat, model: m, params: {max_output_tokens: 9000000000000000}}",
            "max_output_tokens: 9000000000000000 is too large",
        ),
        (
            "{kind: openai_chat, model: m, price: {input: -1, output: 1}}",
            "price.input: -1 is too s",
        ),
        (
            "{kind: openai_chat, model: m, timeout_s: 0}",
            "timeout_s: 0 is too small; give a number a",
        ),
        (
            "{kind: openai_chat, model: m, base_url: host}",
            "backends.gpt.base_url is not a URL; write",
        ),
        ("text", "backends.gpt is not a section; write `kind:` and `model:` below it"),
        ("{kind: simulated, api_key_env: X}", "backends.gpt.api_key_env is not a known key;"),
        (
            "{kind: openai_chat, model: m, base_url: 'http://example.org/v1'}",
            "backends.gpt.base_url would send the key of 'OPENAI_API_KEY' unencrypted to "
            "'example.org'; use https",
        ),
    ],
)
def test_a_wrong_entry_names_file_line_key_and_fix(workspace, text, message):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, text)
    assert "my-backends.yaml:2: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "url"),
    [
        ("openai_chat", "http://127.0.0.1:8000/v1"),
        ("openai_chat", "http://localhost:8000/v1"),
        ("openai_chat", "http://[::1]:8000/v1"),
        ("openai_chat", "https://eu.api.openai.com/v1"),
        ("openai_compatible", "http://example.org/v1"),
    ],
)
def test_plain_http_is_fine_on_loopback_or_without_a_key(workspace, kind, url):
    assert entry(workspace, f"{{kind: {kind}, model: m, base_url: '{url}'}}").base_url == url


@pytest.mark.parametrize(
    "text",
    [
        f"{{kind: openai_chat, model: m, api_key: {SECRET}}}",
        f"{{kind: openai_chat, model: m, api_key_env: {SECRET}}}",
        f"{{kind: openai_chat, model: m, base_url: 'https://user:{SECRET}@host/v1'}}",
        f"{{kind: openai_chat, model: m, base_url: 'https://host/v1?key={SECRET}'}}",
        f"{{kind: openai_chat, model: m, params: {{extra_headers: {{Authorization: {SECRET}}}}}}}",
        f"{{kind: openai_chat, model: m, params: {{extra_headers: {{X-Auth-Token: {SECRET}}}}}}}",
        f"{{kind: openai_chat, model: m, params: {{extra_headers: {{X-Goog-Api-Key: {SECRET}}}}}}}",
        f"{{kind: openai_chat, model: m, params: {{extra_body: {{api_key: {SECRET}}}}}}}",
        "{kind: openai_chat, model: '${MY_API_KEY}'}",
        "{kind: openai_chat, model: m, timeout_s: '${HIDDEN}'}",
        f"{SECRET}",
    ],
)
def test_a_secret_in_the_catalogue_is_refused_and_never_shown(workspace, text):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, text, {"MY_API_KEY": SECRET, "HIDDEN": SECRET})
    assert SECRET not in str(caught.value)
    error: BaseException | None = caught.value
    while error is not None:
        assert SECRET not in str(error)
        error = error.__cause__ or error.__context__


def test_headers_and_body_keys_that_only_sound_like_secrets_are_fine(workspace):
    params = "{extra_headers: {X-Author: me, X-Keyboard: de}, extra_body: {prompt_cache_key: a}}"
    read = entry(workspace, f"{{kind: openai_chat, model: m, params: {params}}}")
    assert set(read.params.extra_headers) == {"X-Author", "X-Keyboard"}
    assert read.params.extra_body == {"prompt_cache_key": "a"}

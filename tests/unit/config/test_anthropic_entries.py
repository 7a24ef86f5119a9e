from __future__ import annotations

import pytest
from config_workspace import resolve_entry as entry

from skillopt.errors import ConfigError

LOCAL = "{kind: anthropic_messages, model: m, base_url: 'http://127.0.0.1:1'}"


def test_an_entry_has_defaults(workspace):
    backend = entry(workspace, "{kind: anthropic_messages, model: m-1}")
    assert backend.api_key_env == "ANTHROPIC_API_KEY"
    assert backend.base_url is None
    assert backend.revision == ""
    assert backend.price is None
    assert backend.params.max_output_tokens == 4096, "the API requires a limit"


def test_the_limit_of_tokens_is_in_the_fingerprint_and_the_address_is_not(workspace):
    def made(more):
        return entry(workspace, f"{{kind: anthropic_messages, model: m, {more}}}").fingerprint

    plain = made("timeout_s: 9")
    assert plain == made("params: {max_output_tokens: 4096}")
    assert plain == made("base_url: 'https://api.anthropic.com/v1'")
    assert plain != made("params: {max_output_tokens: 4095}")
    assert plain != made("params: {temperature: 0}")
    assert plain != entry(workspace, "{kind: openai_chat, model: m}").fingerprint


def test_another_server_is_another_revision(workspace):
    other = entry(workspace, LOCAL.replace(":1'", ":2'"))
    assert entry(workspace, LOCAL).revision not in ("", other.revision)
    assert entry(workspace, LOCAL.replace("}", ", revision: w2}")).revision == "w2"


@pytest.mark.parametrize(
    "more",
    [
        "base_url: 'http://127.0.0.1:8000'",
        "base_url: 'https://api.anthropic.com'",
        "base_url: 'https://llm.example.org/anthropic', allowed_hosts: [LLM.example.org]",
        "base_url: 'http://example.org', api_key_env: null",
    ],
)
def test_a_key_may_go_home_to_loopback_and_to_hosts_that_are_named(workspace, more):
    backend = entry(workspace, f"{{kind: anthropic_messages, model: m, {more}}}")
    assert backend.base_url in more


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "base_url: 'https://example.org'",
            "base_url would send the key of 'ANTHROPIC_API_KEY' to 'example.org'; write "
            "allowed_hosts: [example.org] if it may have it",
        ),
        (
            "base_url: 'https://api.anthropic.com.example.org'",
            "base_url would send the key of 'ANTHROPIC_API_KEY' to 'api.anthropic.com.example.org'",
        ),
        (
            "base_url: 'http://api.anthropic.com'",
            "base_url would send the key of 'ANTHROPIC_API_KEY' unencrypted to 'api.anthropic.com'",
        ),
        (
            "base_url: 'https://a.org', allowed_hosts: ['https://a.org']",
            "allowed_hosts[0]: 'https://a.org' is not the name of a host; give it without scheme",
        ),
        (
            "allowed_hosts: [a.org]",
            "allowed_hosts would change nothing without base_url and a key; remove it",
        ),
        ("params: {temperature: 1.5}", "params.temperature: 1.5 is too large; the Messages API"),
        ("params: {seed: 3}", "params.seed: 3 cannot be sent, the Messages API has no seed"),
        (
            "params: {reasoning_effort: low}",
            "params.reasoning_effort: 'low' cannot be sent under this name; write "
            "params.extra_body: {output_config: {effort: low}}",
        ),
        (
            "params: {extra_body: {max_tokens: 3}}",
            "params.extra_body.max_tokens is set by skillopt for each call; remove it",
        ),
        (
            "params: {extra_body: {thinking: {type: enabled, budget_tokens: 2000}}}",
            "params.extra_body.thinking would end every attempt at its first tool call",
        ),
        ("params: {extra_headers: {x-api-key: k}}", "x-api-key would store a secret"),
        ("modle: m", "modle is not a known key; did you mean 'model'?"),
    ],
)  # fmt: skip
def test_what_the_api_or_the_key_does_not_allow_is_refused_by_name(workspace, more, message):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, f"{{kind: anthropic_messages, model: m, {more}}}")
    assert "my-backends.yaml:2: " in str(caught.value)
    assert message in str(caught.value)

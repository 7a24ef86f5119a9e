from __future__ import annotations

import pytest
from config_workspace import resolve_entry as entry

from skillopt.errors import ConfigError

AT = {
    "openai_chat": "model: m",
    "openai_responses": "model: m",
    "azure_chat": "deployment: d, endpoints: ['https://n.openai.azure.com']",
    "azure_responses": "deployment: d, endpoints: ['https://n.openai.azure.com']",
    "anthropic_messages": "model: m",
    "openai_compatible": "model: m, base_url: 'http://127.0.0.1:1/v1'",
    "simulated": "model: m, base_url: 'http://127.0.0.1:1'",
}
USUAL = {**dict.fromkeys(AT, "json_schema"), "openai_compatible": "none"}


@pytest.mark.parametrize("kind", AT)
def test_every_kind_has_a_usual_form_that_changes_no_fingerprint(workspace, kind):
    plain = entry(workspace, f"{{kind: {kind}, {AT[kind]}}}")
    said = entry(workspace, f"{{kind: {kind}, {AT[kind]}, structured_output: {USUAL[kind]}}}")
    assert plain.reply_form == said.reply_form == USUAL[kind]
    assert plain.fingerprint == said.fingerprint


@pytest.mark.parametrize("kind", AT)
def test_another_form_is_another_fingerprint(workspace, kind):
    other = "none" if USUAL[kind] == "json_schema" else "json_schema"
    plain = entry(workspace, f"{{kind: {kind}, {AT[kind]}}}")
    changed = entry(workspace, f"{{kind: {kind}, {AT[kind]}, structured_output: {other}}}")
    assert changed.reply_form == other
    assert plain.fingerprint != changed.fingerprint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{kind: openai_chat, model: m, structured_output: json}",
            "backends.gpt.structured_output",
        ),
        (
            "{kind: anthropic_messages, model: m, structured_output: json_object}",
            "backends.gpt.structured_output: 'json_object' cannot be asked for, the Messages API "
            "knows schemas only; write json_schema or none",
        ),
        (
            "{kind: openai_responses, model: m, base_url: 'https://llm.example.org/v1'}",
            "backends.gpt.base_url would send the key of 'OPENAI_API_KEY' to 'llm.example.org'; "
            "write allowed_hosts: [llm.example.org] if it may have it, or use the kind "
            "openai_compatible",
        ),
        (
            "{kind: openai_chat, model: m, base_url: 'https://h/v1', allowed_hosts: ['https://h']}",
            "backends.gpt.allowed_hosts.0: 'https://h' is not the name of a host",
        ),
        (
            "{kind: openai_chat, model: m, allowed_hosts: [h]}",
            "backends.gpt.allowed_hosts would change nothing without base_url and a key",
        ),
    ],
)
def test_a_wrong_entry_names_its_key_and_the_fix(workspace, text, message):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, text)
    assert "my-backends.yaml:2: " in str(caught.value)
    assert message in str(caught.value).replace("[0]", ".0")

from __future__ import annotations

import json

import pytest
from config_workspace import resolve_entry as entry

from skillopt.config.catalogue import (
    dump_catalogue,
    load_resolved,
    open_catalogue,
    require_credentials,
)
from skillopt.config.yaml_source import read_document
from skillopt.errors import ConfigError

SECRET = "sk-very-secret-value"


def test_variables_are_replaced_in_texts(workspace):
    text = "{kind: openai_compatible, model: '${MODEL:-small}', base_url: 'http://${HOST}/v1'}"
    backend = entry(workspace, text, {"HOST": "127.0.0.1:5"})
    assert (backend.model, backend.base_url) == ("small", "http://127.0.0.1:5/v1")


def test_an_unset_variable_names_key_and_variable(workspace):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, "{kind: openai_compatible, model: m, base_url: '${HOST_URL}'}")
    assert (
        "my-backends.yaml:2: backends.gpt.base_url: the environment variable 'HOST_URL' is not "
        "set; `export HOST_URL=…`" in str(caught.value)
    )


def test_variables_of_backends_that_nobody_uses_may_be_unset(workspace):
    path = workspace.write(
        "b.yaml",
        "backends:\n  a: {kind: simulated}\n"
        "  b: {kind: openai_compatible, model: m, base_url: '${UNSET}'}\n",
    )
    assert open_catalogue({}, backends_file=path).resolve("a").kind == "simulated"


def test_every_variable_of_a_key_is_known_also_of_backends_that_nobody_uses(workspace):
    path = workspace.write(
        "b.yaml",
        "backends:\n  a: {kind: openai_chat, model: m, api_key_env: A_KEY}\n"
        "  b: {kind: azure_chat, endpoints: [{url: 'https://x', api_key_env: B_KEY}]}\n"
        "  broken: {api_key_env: [no, name]}\n",
    )
    assert open_catalogue({}, backends_file=path).key_variables() == {"A_KEY", "B_KEY"}


def test_the_first_place_that_defines_a_name_wins(workspace):
    def catalogue(name, *models):
        lines = "".join(f"  {key}: {{kind: openai_chat, model: {name}}}\n" for key in models)
        return workspace.write(f"{name}/backends.yaml", f"backends:\n{lines}")

    option = catalogue("option", "b", "c", "d", "e", "sim")
    variable = catalogue("variable", "c", "d", "e")
    catalogue(".", "d", "e")
    workspace.write(
        "xdg/skillopt/backends.yaml",
        "backends:\n  e: {kind: openai_chat, model: user}\n  f: {kind: openai_chat, model: user}\n",
    )
    spec = workspace.spec(
        "backends:\n  a: {kind: openai_chat, model: spec}\n  b: {kind: openai_chat, model: spec}\n"
    )
    environ = {
        "SKILLOPT_BACKENDS": str(variable),
        "XDG_CONFIG_HOME": str(workspace.folder / "xdg"),
    }

    def models(**options):
        found = open_catalogue(environ, spec=read_document(spec), **options)
        return {name: found.resolve(name).model for name in found.names()}

    assert models(backends_file=option) == {
        "a": "spec", "b": "spec", "c": "option", "d": "option", "e": "option", "f": "user",
        "sim": "option",
    }  # fmt: skip
    assert models() == {
        "a": "spec", "b": "spec", "c": "variable", "d": "variable", "e": "variable", "f": "user",
        "sim": "sim",
    }  # fmt: skip
    environ.pop("SKILLOPT_BACKENDS")
    assert models()["e"] == "."
    (workspace.folder / "backends.yaml").unlink()
    assert models()["e"] == "user"


def test_the_user_folder_is_found_below_home(workspace):
    workspace.write(
        ".config/skillopt/backends.yaml", "backends: {mine: {kind: simulated, model: home}}\n"
    )
    catalogue = open_catalogue({"HOME": str(workspace.folder)})
    assert catalogue.resolve("mine").model == "home"


def test_a_named_catalogue_must_exist(workspace):
    gone = workspace.folder / "gone.yaml"
    with pytest.raises(ConfigError, match=r"--backends: '.*gone\.yaml' is not a file"):
        open_catalogue({}, backends_file=gone)
    with pytest.raises(ConfigError, match=r"SKILLOPT_BACKENDS: '.*gone\.yaml' is not a file"):
        open_catalogue({"SKILLOPT_BACKENDS": str(gone)})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("backend: {}\n", "b.yaml:1: backend is not a known key; did you mean 'backends'?"),
        ("backends: 3\n", "b.yaml:1: backends: 3 is not a section"),
        ("backends: {none: {kind: simulated}}\n", "the backend name 'none' is not allowed"),
        ("backends: {none: {kind: simulated}, x.q: {}}\n", "b.yaml:1: the backend name 'none'"),
    ],
)
def test_a_catalogue_file_of_the_wrong_form_names_the_line(workspace, text, message):
    path = workspace.write("b.yaml", text)
    with pytest.raises(ConfigError) as caught:
        open_catalogue({}, backends_file=path).resolve("none")
    assert message in str(caught.value)


def test_an_unknown_name_lists_the_known_ones(workspace, faults):
    workspace.spec("backends: {gpt-5: {kind: openai_chat, model: m}}\n", model="{target: gtp-5}")
    assert faults() == [
        "spec.yaml:3: model.target: no backend is called 'gtp-5'; did you mean 'gpt-5'? "
        "Known backends: gpt-5, sim"
    ]


def test_the_judge_backend_must_be_known_but_plays_no_part_yet(workspace, faults):
    workspace.spec("", model="{target: sim, judge: nobody}")
    assert "model.judge: no backend is called 'nobody'; known backends: sim" in faults()[0]
    workspace.spec("", model="{target: sim, judge: sim}")
    assert set(workspace.load().plan.backends) == {"target", "optimizer"}


def test_a_missing_key_names_backend_variable_and_export(workspace):
    backend = entry(workspace, "{kind: openai_chat, model: m, api_key_env: TEAM_KEY}")
    for environ in ({}, {"TEAM_KEY": ""}):
        with pytest.raises(ConfigError) as caught:
            require_credentials([backend], environ)
        assert str(caught.value) == (
            "backend 'gpt' needs a key: the environment variable 'TEAM_KEY' is not set; "
            "`export TEAM_KEY=…`"
        )
    require_credentials([backend], {"TEAM_KEY": SECRET})


def test_backends_without_a_key_variable_need_none(workspace):
    require_credentials(
        [
            entry(workspace, "{kind: simulated}"),
            entry(workspace, "{kind: openai_compatible, model: m, base_url: 'http://h/v1'}"),
        ],
        {},
    )


def test_a_money_budget_needs_prices(workspace, faults):
    workspace.spec(
        "budget: {max_usd: 5}\nbackends: {gpt: {kind: openai_chat, model: m}}\n",
        model="{target: gpt, optimizer: sim}",
    )
    assert faults()[0].startswith(
        "budget.max_usd is 5, but backend 'gpt' has no price and 'm' is not in prices.yaml of 2"
    )
    for price in ("0", "subscription", "{input: 1, output: 1}"):
        workspace.spec(
            f"budget: {{max_usd: 5}}\n"
            f"backends: {{gpt: {{kind: openai_chat, model: m, price: {price}}}}}\n",
            model="{target: gpt, optimizer: sim}",
        )
        assert set(workspace.load().backends) == {"gpt", "sim"}


def test_resolved_backends_survive_the_way_to_a_worker(workspace):
    backend = entry(
        workspace,
        "{kind: openai_chat, model: m, price: {input: 1, output: 2}, params: {temperature: 0.5}}",
        {"OPENAI_API_KEY": SECRET},
    )
    text = dump_catalogue({"gpt": backend})
    assert SECRET not in text
    path = workspace.write("resolved.json", text)
    assert load_resolved(path) == {"gpt": backend}
    assert load_resolved(path)["gpt"].fingerprint == backend.fingerprint


def test_a_damaged_resolved_catalogue_is_refused(workspace):
    path = workspace.write("resolved.json", json.dumps({"backends": {"gpt": {"kind": "x"}}}))
    with pytest.raises(ConfigError, match="is not a resolved backend catalogue"):
        load_resolved(path)
    with pytest.raises(ConfigError, match="does not exist"):
        load_resolved(workspace.folder / "gone.json")

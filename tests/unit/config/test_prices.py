from __future__ import annotations

from datetime import date

import pytest
from config_workspace import resolve_entry

from skillopt.config.catalogue import open_catalogue, require_prices
from skillopt.config.packaged import configs_dir
from skillopt.config.prices import FILE_VARIABLE, open_prices
from skillopt.config.yaml_source import read_document
from skillopt.domain.usage import Price
from skillopt.errors import ConfigError

OURS = "as_of: 2026-11-01\ncurrency: USD per million tokens\nmodels:\n"
MINI = Price(input=0.25, cached_input=0.025, output=2)


def test_the_packaged_prices_have_a_day_and_make_sense():
    [packaged] = open_prices({}).files
    assert date(2026, 1, 1) < date.fromisoformat(packaged.as_of)
    assert packaged.words == f"prices.yaml of {packaged.as_of}"
    assert packaged.models
    for model, price in packaged.models.items():
        assert 0 < price.input < price.output, model
        assert price.cached_input is None or price.cached_input < price.input, model


@pytest.mark.parametrize("kind", ["openai_chat", "openai_responses"])
def test_a_vendors_model_without_a_price_has_its_list_price(workspace, kind):
    backend = resolve_entry(workspace, f"{{kind: {kind}, model: gpt-5-mini}}")
    assert backend.price == MINI
    assert backend.price_from.startswith("prices.yaml of 20")


def test_anthropics_models_have_list_prices_too(workspace):
    backend = resolve_entry(workspace, "{kind: anthropic_messages, model: claude-opus-5}")
    assert backend.price == Price(input=5, cached_input=0.5, output=25)


@pytest.mark.parametrize(
    "entry",
    [
        "{kind: openai_chat, model: gpt-5-mini-next}",
        "{kind: openai_compatible, model: gpt-5-mini, base_url: 'http://127.0.0.1:9/v1'}",
        "{kind: openai_chat, model: gpt-5-mini, base_url: 'https://eu.api.openai.com/v1'}",
        "{kind: azure_chat, deployment: gpt-5-mini, endpoints: ['https://a.openai.azure.com']}",
    ],
)
def test_nobody_else_does(workspace, entry):
    backend = resolve_entry(workspace, entry)
    assert backend.price is None
    assert backend.price_from == ""


@pytest.mark.parametrize(
    ("price", "own", "subscription"),
    [
        ("{input: 1, output: 2}", Price(input=1, output=2), False),
        ("0", Price(input=0, output=0), False),
        ("subscription", None, True),
    ],
)
def test_the_price_of_an_entry_wins(workspace, price, own, subscription):
    backend = resolve_entry(workspace, f"{{kind: openai_chat, model: gpt-5-mini, price: {price}}}")
    assert (backend.price, backend.subscription, backend.price_from) == (own, subscription, "")


def test_a_list_price_does_not_change_what_a_backend_is(workspace):
    listed = resolve_entry(workspace, "{kind: openai_chat, model: gpt-5-mini}")
    free = resolve_entry(workspace, "{kind: openai_chat, model: gpt-5-mini, price: 0}")
    assert listed.fingerprint == free.fingerprint


def test_files_of_ones_own_go_first_model_by_model(workspace):
    variable = workspace.write("mine.yaml", f"{OURS}  gpt-5-mini: {{input: 9, output: 9}}\n")
    workspace.write(
        "xdg/skillopt/prices.yaml",
        f"{OURS}  gpt-5-mini: {{input: 8, output: 8}}\n  team-model: {{input: 8, output: 8}}\n",
    )
    environ = {"XDG_CONFIG_HOME": str(workspace.folder / "xdg"), FILE_VARIABLE: str(variable)}
    found = {}
    for model in ("gpt-5-mini", "team-model", "gpt-5-nano"):
        backend = resolve_entry(workspace, f"{{kind: openai_chat, model: {model}}}", environ)
        assert backend.price is not None
        found[model] = (backend.price.input, backend.price_from.partition(" of ")[0])
    assert found == {
        "gpt-5-mini": (9, "mine.yaml"),
        "team-model": (8, "prices.yaml"),
        "gpt-5-nano": (0.05, "prices.yaml"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models: {}\n", "as_of is missing; write the day"),
        (f"{OURS.replace('2026-11-01', 'today')}  m: {{input: 1, output: 2}}\n", "'today' is not"),
        ("as_of: 2026-11-01\ncurrency: EUR\nmodels: {}\n", "write `currency: USD per million"),
        (f"{OURS}  m: {{input: cheap, output: 2}}\n", "mine.yaml:4: models.m.input: 'cheap'"),
        (f"{OURS}  m: {{input: -1, output: 2}}\n", "mine.yaml:4: models.m.input: -1 does not fit"),
        (f"{OURS}  m: {{input: 1, output: 2, outptu: 3}}\n", "outptu is not a known key"),
        ("[]\n", "expected `key: value` lines"),
    ],
)
def test_a_price_file_of_the_wrong_form_names_line_and_fix(workspace, text, message):
    path = workspace.write("mine.yaml", text)
    with pytest.raises(ConfigError) as caught:
        open_catalogue({FILE_VARIABLE: str(path)})
    assert message in str(caught.value)


def test_a_named_price_file_must_exist(workspace):
    gone = workspace.folder / "gone.yaml"
    with pytest.raises(ConfigError, match=r"SKILLOPT_PRICES: '.*gone\.yaml' is not a file"):
        open_prices({FILE_VARIABLE: str(gone)})


def test_an_unknown_price_under_a_money_budget_says_where_was_looked(workspace):
    book = open_prices({})
    unknown = resolve_entry(workspace, "{kind: openai_chat, model: gpt-x}")
    with pytest.raises(ConfigError) as caught:
        require_prices([unknown], max_usd=5, prices=book)
    as_of = read_document(configs_dir() / "prices.yaml").data["as_of"]
    assert f"'gpt-x' is not in prices.yaml of {as_of}" in str(caught.value)
    assert "add the model to a prices.yaml that SKILLOPT_PRICES names" in str(caught.value)
    local = resolve_entry(
        workspace, "{kind: openai_compatible, model: m, base_url: 'http://127.0.0.1:9/v1'}"
    )
    with pytest.raises(ConfigError) as caught:
        require_prices([local], max_usd=5, prices=book)
    assert "has no price; give it `price: {input" in str(caught.value)
    assert "SKILLOPT_PRICES" not in str(caught.value), "list prices do not count for it"
    require_prices([unknown, local], max_usd=None, prices=book)


def test_check_explains_where_a_list_price_comes_from(workspace):
    workspace.spec(
        "budget: {max_usd: 5}\nbackends: {gpt: {kind: openai_chat, model: gpt-5-mini}}\n",
        model="{target: gpt, optimizer: sim}",
    )
    explained = workspace.load().explained
    assert explained["backends.gpt.price.input"].value == 0.25
    assert explained["backends.gpt.price.input"].origin.startswith("list price (prices.yaml of 2")
    assert "backends.gpt.price_from" not in explained

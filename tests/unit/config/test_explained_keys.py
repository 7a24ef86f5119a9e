from __future__ import annotations

from collections.abc import Iterator

from config_workspace import record
from pydantic import BaseModel

from skillopt.config.load import load_eval_plan
from skillopt.config.schema import SpecFile

FREE_MAPPINGS = {"fields", "labels", "backends"}


def every_key(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from every_key(kind, f"{prefix}{name}.")
        elif prefix + name not in FREE_MAPPINGS:
            yield prefix + name


def test_every_key_is_explained_with_the_value_the_run_uses(workspace):
    loaded = workspace.load()
    explained = loaded.explained
    assert set(every_key(SpecFile)) <= explained.keys()
    settings = loaded.plan.settings.model_dump(mode="json")
    for section in ("train", "gradient", "optimizer", "evaluation", "stop"):
        for key, value in settings[section].items():
            assert explained[f"{section}.{key}"].value == value, key
    assert explained["cache"].value == "on"
    assert explained["fields"].value == {}


def test_an_origin_is_a_line_an_option_or_the_default(workspace):
    workspace.spec("train:\n  seed: 3\n  batch_size: 4\n")
    explained = workspace.load(overrides=["train.batch_size=2"], cache="off").explained
    spec = str(workspace.folder / "spec.yaml")
    assert (explained["train.seed"].value, explained["train.seed"].origin) == (3, f"{spec}:5")
    assert (explained["train.batch_size"].value, explained["train.batch_size"].origin) == (
        2,
        "--set",
    )
    assert (explained["cache"].value, explained["cache"].origin) == ("off", "--cache")
    assert explained["train.num_epochs"].origin == "default"
    assert explained["model.target"].origin == f"{spec}:3"


def test_a_section_without_lines_comes_from_defaults(workspace):
    workspace.spec("train:\n")
    assert workspace.load().explained["train.seed"].origin == "default"


def test_each_value_names_the_layer_that_won(workspace):
    workspace.write("lowest.yaml", "train: {seed: 1, batch_size: 1}\nlabels: {a: x}\n")
    workspace.write("middle.yaml", "extends: lowest.yaml\ntrain: {seed: 2}\n")
    workspace.spec("extends: middle.yaml\ntrain: {num_epochs: 5}\nlabels: {b: y}\n")
    explained = workspace.load().explained
    folder = workspace.folder
    shown = {
        key: (explained[key].value, explained[key].origin.removeprefix(f"{folder}/"))
        for key in explained
        if explained[key].origin.startswith(str(folder)) and key.startswith(("train", "labels"))
    }
    assert shown == {
        "train.batch_size": (1, "lowest.yaml:1"),
        "train.seed": (2, "middle.yaml:2"),
        "train.num_epochs": (5, "spec.yaml:5"),
        "labels.a": ("x", "lowest.yaml:2"),
        "labels.b": ("y", "spec.yaml:6"),
    }


def test_what_follows_from_something_else_says_from_what(workspace):
    explained = workspace.load().explained
    assert explained["name"].value == workspace.load().plan.name
    assert explained["name"].origin == "default (the spec's file or folder)"
    assert (explained["model.optimizer"].value, explained["model.optimizer"].origin) == (
        "sim",
        "default (model.target)",
    )
    assert (explained["split.ratio"].value, explained["split.ratio"].origin) == (
        "2:1:1",
        "default",
    )
    workspace.write_records(
        "tasks.jsonl", [record(n, split=s) for n, s in enumerate(("train", "val", "test"))]
    )
    divided = workspace.load().explained["split.ratio"]
    assert (divided.value, divided.origin) == (None, "default (the tasks are already divided)")


def test_the_backends_in_use_are_explained_key_by_key(workspace):
    workspace.write(
        "backends.yaml",
        "backends:\n"
        "  a:\n"
        "    kind: openai_compatible\n"
        "    base_url: ${WHERE}/v1\n"
        "    model: ${MODEL:-small}\n"
        "    price: 0\n"
        "    params: {temperature: 0.5}\n"
        "  b: {kind: openai_chat, model: m}\n",
    )
    workspace.spec("", model="{target: a}")
    loaded = workspace.load(environ={"WHERE": "http://127.0.0.1:9"})
    shown = {
        key.removeprefix("backends.a."): (one.value, one.origin.replace(str(workspace.folder), ""))
        for key, one in loaded.explained.items()
        if key.startswith("backends.")
    }
    assert not any(key.startswith("b.") for key in shown)
    assert shown["kind"] == ("openai_compatible", "/backends.yaml:3")
    assert shown["base_url"] == (
        "http://127.0.0.1:9/v1",
        "environment (WHERE), named in /backends.yaml:4",
    )
    assert shown["model"] == ("small", "/backends.yaml:5")
    assert shown["price.output"] == (0.0, "/backends.yaml:6")
    assert shown["params.temperature"] == (0.5, "/backends.yaml:7")
    assert shown["params.seed"] == (None, "default")
    assert shown["timeout_s"] == (120.0, "default")
    assert shown["revision"][1] == "default (from base_url)"


def test_a_simulator_says_what_it_is_and_its_address_may_come_from_the_environment(workspace):
    explained = workspace.load(environ={"SIM_URL": "http://127.0.0.1:7/v1"}).explained
    assert explained["backends.sim.base_url"].origin == "environment (SIM_URL)"
    assert explained["backends.sim.revision"].value == "published-1"
    assert explained["backends.sim.revision"].origin == "default (told by the simulator)"


def test_a_measurement_is_explained_too(workspace):
    loaded = load_eval_plan(
        workspace.folder / "spec.yaml", environ={}, publish_revision=lambda backend: "r"
    )
    assert loaded.explained["model.target"].origin.endswith("spec.yaml:3")

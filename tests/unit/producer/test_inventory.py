"""The catalogue, name by name: what is wrong with one hides no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from producer.inventory import Inventory, InventoryReader
from skillopt.errors import ConfigError

CATALOGUE = """\
backends:
  good: {kind: openai_compatible, model: m, base_url: "http://127.0.0.1:9/v1"}
  broken: {kind: openai_chatt, model: m}
  robot: {kind: simulated, base_url: "http://127.0.0.1:9/v1"}
"""
SPEC = """\
skill: SKILL.md
tasks: tasks.jsonl
model:
  target: {use: good, params: {temperature: 0.5}}
  optimizer:
    use: good
    params: {temperature: 0}
    stages: {merge: {temperature: 1}}
budget: {max_usd: 3}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "backends.yaml").write_text(CATALOGUE)
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def no_simulator(backend):
    raise ConfigError(f"no simulator answers for {backend.name!r}")


def read(folder: Path, spec: str | None = None, publish=lambda _: "r1", **chosen) -> Inventory:
    reader = InventoryReader({"XDG_CONFIG_HOME": str(folder / "none")}, publish)
    path = None if spec is None else folder / spec
    return reader.read(path, None if spec else folder / "backends.yaml", **chosen)


def test_everything_that_is_defined_is_listed_with_its_place(folder):
    found = {one.name: one for one in read(folder, everything=True).backends}
    assert set(found) == {"broken", "good", "robot", "sim"}
    assert found["good"].origin == f"{folder / 'backends.yaml'}:2"
    assert found["sim"].packaged
    assert not found["good"].packaged


def test_a_broken_entry_is_listed_with_its_error_beside_the_others(folder):
    found = {one.name: one for one in read(folder).backends}
    assert found["broken"].backend is None
    assert "'openai_chatt' is not known" in found["broken"].error
    assert found["good"].backend is not None


def test_a_backend_that_cannot_say_what_it_is_is_an_error_of_its_own(folder):
    found = {one.name: one for one in read(folder, publish=no_simulator).backends}
    assert found["robot"].error == "no simulator answers for 'robot'"
    assert found["good"].error == ""


def test_without_a_spec_the_packaged_entries_are_left_out(folder):
    assert [one.name for one in read(folder).backends] == ["broken", "good", "robot"]


def test_with_a_spec_only_its_roles_are_listed(folder):
    inventory = read(folder, "spec.yaml")
    [one] = inventory.backends
    assert (one.name, one.roles) == ("good", ("target", "optimizer"))
    assert inventory.max_usd == 3


def test_every_way_in_which_the_spec_calls_a_backend_is_given_once(folder):
    [one] = read(folder, "spec.yaml").backends
    ways = {label: backend.params.temperature for label, backend in one.variants()}
    assert ways == {"good (target)": 0.5, "good (optimizer)": 0.0, "good (optimizer, merge)": 1.0}


def test_a_backend_that_is_called_in_one_way_goes_by_its_name(folder):
    (folder / "spec.yaml").write_text("skill: S.md\ntasks: t\nmodel: {target: good}\n")
    [one] = read(folder, "spec.yaml").backends
    assert [label for label, _ in one.variants()] == ["good"]


def test_a_judge_counts_if_it_is_named(folder):
    text = "skill: S.md\ntasks: t\nmodel: {target: good, judge: broken}\n"
    (folder / "spec.yaml").write_text(text)
    found = {one.name: one.roles for one in read(folder, "spec.yaml").backends}
    assert found == {"good": ("target", "optimizer"), "broken": ("judge",)}


def test_names_can_be_chosen(folder):
    assert [one.name for one in read(folder, only=["sim", "good"]).backends] == ["sim", "good"]
    with pytest.raises(ConfigError, match=r"'nobody'.*known backends: broken, good"):
        read(folder, only=["nobody"])


def test_a_role_that_names_nothing_is_an_error_of_the_spec(folder):
    (folder / "spec.yaml").write_text("skill: S.md\ntasks: t\nmodel: {target: gooood}\n")
    with pytest.raises(ConfigError, match=r"spec.yaml:3: model.target.*did you mean 'good'"):
        read(folder, "spec.yaml")


def test_a_spec_that_is_wrong_is_refused(folder):
    (folder / "spec.yaml").write_text("skill: S.md\ntasks: t\nmodel: {target: good}\nmodle: 1\n")
    with pytest.raises(ConfigError, match="modle"):
        read(folder, "spec.yaml")
    with pytest.raises(ConfigError, match=r"missing.yaml"):
        read(folder, "missing.yaml")

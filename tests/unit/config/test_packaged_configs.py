from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import skillopt
from skillopt.config.catalogue import open_catalogue
from skillopt.config.entry_models import KINDS
from skillopt.config.load import load_plan
from skillopt.config.packaged import configs_dir
from skillopt.config.schema import Roles, SpecFile, Split, parse_spec
from skillopt.config.yaml_source import Document, read_document
from skillopt.domain.backend import Limits, Params
from skillopt.domain.item import Item
from skillopt.domain.plan import RunPlan
from skillopt.errors import ConfigError

#: Keys that a spec may have and the packaged list can only show in comments.
OWN_TO_EACH_SPEC = {"name", "skill", "tasks"}


def plan(name: str) -> RunPlan:
    loaded = load_plan(
        configs_dir() / name / "spec.yaml", environ={}, publish_revision=lambda backend: "r"
    )
    assert loaded.warnings == []
    return loaded.plan


def items(run: RunPlan) -> Iterator[Item]:
    yield from (*run.splits.train, *run.splits.val, *run.splits.test)


def test_the_example_has_ten_tasks_and_four_held_out():
    run = plan("example")
    assert len(run.splits.train) + len(run.splits.val) == 10
    assert len(run.splits.test) == 4


def test_the_example_brings_its_own_catalogue_and_a_skill_with_front_matter():
    folder = configs_dir() / "example"
    assert "sim" in read_document(folder / "backends.yaml").data["backends"]
    assert (folder / "SKILL.md").read_text().startswith("---\nname: ")


def test_the_demo_is_large_enough_for_several_steps():
    run = plan("demo")
    assert len(run.splits.train) + len(run.splits.val) == 24
    assert len(run.splits.test) == 10
    assert len(run.splits.train) > run.settings.train.batch_size


@pytest.mark.parametrize("name", ["example", "demo"])
def test_no_packaged_skill_states_a_rule_already(name):
    run = plan(name)
    for item in items(run):
        for check in item.judge.checks:
            assert str(check.arg) not in run.skill


@pytest.mark.parametrize("name", ["example", "demo"])
def test_test_tasks_check_partly_in_other_ways_than_train_tasks(name):
    run = plan(name)

    def ops(part):
        return {check.op for item in part for check in item.judge.checks}

    assert ops(run.splits.test) - ops(run.splits.train)


def test_each_rule_of_the_demo_decides_at_least_one_val_task_alone():
    run = plan("demo")
    alone = {item.judge.checks[0].op for item in run.splits.val if len(item.judge.checks) == 1}
    assert alone == {check.op for item in items(run) for check in item.judge.checks} - {"contains"}


def test_base_yaml_shows_every_key_with_its_default():
    document = read_document(configs_dir() / "base.yaml")
    text = (configs_dir() / "base.yaml").read_text()
    assert document.data.keys() | OWN_TO_EACH_SPEC == SpecFile.model_fields.keys()
    assert all(f"# {key}: " in text for key in OWN_TO_EACH_SPEC)
    complete = Document(
        document.file, document.data | {"skill": "S.md", "tasks": "t"}, document.origins
    )
    parsed = parse_spec(complete)
    assert parsed.spec == SpecFile(skill="S.md", tasks="t", model=Roles(target="sim"))
    for name, field in SpecFile.model_fields.items():
        section = document.data.get(name)
        keys = getattr(field.annotation, "model_fields", {}).keys()
        if keys:
            assert section.keys() == keys, name
    assert Split().seed == document.data["split"]["seed"]


def test_every_key_of_base_yaml_is_explained_on_its_line():
    lines = (configs_dir() / "base.yaml").read_text().splitlines()
    for line in lines:
        written = line.split("#")[0].strip()
        is_section = written.endswith(":")
        if written and not is_section:
            assert line.partition("# ")[2], line


def shown_entries() -> str:
    """Give the entries that the packaged catalogue shows in comments, as if they were written."""
    text = (configs_dir() / "backends.yaml").read_text()
    shown = re.findall(r"^  # ([\w-]+:)\n((?:  #   .*\n)+)", text, re.MULTILINE)
    entries = [f"  {name}\n{lines.replace('  #   ', '    ')}" for name, lines in shown]
    return "backends:\n" + "".join(entries)


def test_every_entry_that_the_packaged_catalogue_shows_would_be_accepted(tmp_path):
    (tmp_path / "backends.yaml").write_text(shown_entries())
    catalogue = open_catalogue({}, backends_file=tmp_path / "backends.yaml")
    names = [name for name in catalogue.names() if name != "sim"]
    kinds = {catalogue.resolve(name).kind for name in names}
    assert kinds == KINDS.keys() - {"simulated"}


def test_the_packaged_catalogue_explains_every_key_of_an_entry():
    text = (configs_dir() / "backends.yaml").read_text()
    models = (*KINDS.values(), Params, Limits)
    keys = {key for model in models for key in model.model_fields}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}: ", text)] == []


def test_base_yaml_written_out_sets_nothing_that_is_not_used(workspace):
    workspace.write("base.yaml", (configs_dir() / "base.yaml").read_text())
    workspace.spec(
        "extends: base.yaml\n"
        "optimizer: {use_slow_update: false, use_meta_skill: false}\n"
        "evaluation: {eval_test: false}\n"
    )
    assert workspace.load().warnings == []


def test_an_installed_package_has_its_configuration_inside(tmp_path, monkeypatch):
    monkeypatch.setattr(skillopt, "__file__", str(tmp_path / "skillopt" / "__init__.py"))
    with pytest.raises(ConfigError, match="the packaged configuration is missing"):
        configs_dir()
    inside = tmp_path / "skillopt" / "_configs"
    inside.mkdir(parents=True)
    (inside / "backends.yaml").write_text("backends: {}\n")
    assert configs_dir() == inside


def test_base_yaml_can_be_extended(workspace):
    base = (configs_dir() / "base.yaml").read_text()
    workspace.write("base.yaml", base)
    plain = workspace.load().plan
    workspace.spec("extends: base.yaml\n")
    assert workspace.load().plan.identity == plain.identity

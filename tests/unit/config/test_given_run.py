"""A run given as Python values: the same run as from files, and the same care about mistakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from config_workspace import RULE, Workspace, ids, record, sizes

from skillopt.config.given import GivenRun, load_given
from skillopt.config.load import LoadedSpec
from skillopt.domain.item import ExactJudge, FunctionJudge, RuleJudge
from skillopt.errors import ConfigError, InputError, TaskError

SKILL = "# Sums\n\nAdd carefully.\n"
FUNCTION = FunctionJudge(function="scoring:judge", revision="1", task={})


def records(split: str, count: int, **more: Any) -> list[dict[str, Any]]:
    offset = {"train": 0, "val": 100, "test": 200}[split]
    return [record(offset + number, **more) for number in range(count)]


def load(environ: Mapping[str, str] | None = None, **changes: Any) -> LoadedSpec:
    given = {
        "skill": SKILL,
        "model": "sim",
        "train": records("train", 4),
        "val": records("val", 3),
    } | changes
    return load_given(
        GivenRun(**given), environ=environ or {}, publish_revision=lambda backend: "published-1"
    )


def fault(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        load(**changes)
    return str(caught.value)


# --- the same run as from files -----------------------------------------------------------------


def test_lists_and_files_of_the_same_records_are_the_same_run(workspace: Workspace):
    splits = {split: records(split, 5) for split in ("train", "val", "test")}
    for split, given in splits.items():
        workspace.write_records(f"tasks/{split}.jsonl", given)
    workspace.spec("name: sums\ntrain: {num_epochs: 1}\n", tasks="tasks")
    from_files = workspace.load().plan
    given = load(
        name="sums", settings={"train": {"num_epochs": 1}}, **splits, skill=workspace.folder
        / "SKILL.md",
    ).plan  # fmt: skip
    assert given.run_id == from_files.run_id
    assert given == from_files


def test_the_order_of_the_records_does_not_matter():
    turned = records("train", 4)[::-1]
    assert load().plan.identity == load(train=turned).plan.identity


def test_iterators_and_tuples_are_lists_too():
    given = load(
        train=iter(records("train", 4)),
        val=tuple(records("val", 3)),
        test=iter(records("test", 2)),
        settings={"evaluation": {"no_regression": ("t-100",)}},
    )
    assert sizes(given) == (4, 3, 2)
    assert given.plan.settings.evaluation.no_regression == ("t-100",)


def test_without_test_tasks_nothing_is_tested():
    assert load().plan.settings.evaluation.eval_test is False
    assert load(test=None).plan.settings.evaluation.eval_test is False
    assert load(test=records("test", 2)).plan.settings.evaluation.eval_test is True


def test_every_part_reaches_the_plan(tmp_path):
    (tmp_path / "MEMORY.md").write_text("- the gate code is 7\n")
    (tmp_path / "prompts").mkdir()
    (tmp_path / "prompts" / "rank.md").write_text("Choose well.")
    given = load(
        memory=tmp_path / "MEMORY.md",
        prompts=tmp_path / "prompts",
        model={"target": "quick", "optimizer": "sim"},
        backends={"quick": {"kind": "simulated", "simulator": {"seed": 3}}},
        settings={
            "evolve": "both",
            "budget": {"max_calls": 9},
            "preferences": "Be brief.",
            "labels": {"ticket": "7"},
            "evaluation": {"val_limit": 2},
        },
        name="all",
        cache="refresh",
    )
    plan = given.plan
    assert plan.memory == "- the gate code is 7\n"
    assert plan.templates["rank"] == "Choose well."
    assert {role: use.backend for role, use in plan.backends.items()} == {
        "target": "quick",
        "optimizer": "sim",
    }
    assert (plan.name, plan.budget.max_calls, plan.settings.cache) == ("all", 9, "refresh")
    assert plan.settings.preferences == "Be brief."
    assert len(plan.splits.val) == 2
    assert given.labels == {"ticket": "7"}


def test_a_memory_text_may_be_empty_and_one_that_evolves_may_be_missing():
    assert load(memory="").plan.memory == ""
    assert load(memory="- a\n- b\n").plan.memory == "- a\n- b\n"
    assert load(settings={"evolve": "memory"}).plan.memory == ""
    assert load().plan.memory is None


def test_a_catalogue_file_defines_backends(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("backends: {mine: {kind: simulated}}\n")
    assert load(model="mine", backends=path).plan.backends["target"].backend == "mine"


def test_what_changes_nothing_is_a_warning_not_an_error():
    warned = load(settings={"evaluation": {"test_limit": 3}}).warnings
    assert any(line.startswith("settings: evaluation.test_limit: 3 is not used") for line in warned)


# --- judges -------------------------------------------------------------------------------------


def unjudged(split: str, count: int, **more: Any) -> list[dict[str, Any]]:
    given = records(split, count, **more)
    return [{key: value for key, value in one.items() if key != "judge"} for one in given]


def test_a_function_judges_what_has_no_judge_and_gets_the_record_as_it_was_given():
    train = [*unjudged("train", 2, gold=["a", {"b": (1, 2)}]), record(7)]
    given = load(train=train, val=unjudged("val", 2), judge=FUNCTION)
    by_id = {item.id: item.judge for item in given.plan.splits.train}
    assert isinstance(by_id["t-7"], RuleJudge)
    judge = by_id["t-0"]
    assert isinstance(judge, FunctionJudge)
    assert (judge.function, judge.revision) == ("scoring:judge", "1")
    assert judge.task == {
        "task_id": "t-0",
        "task": "Add the numbers of page 0.",
        "gold": ["a", {"b": [1, 2]}],
    }
    assert given.plan.judge_versions.keys() == {"rule", "function"}
    assert not any("not used" in warning for warning in given.warnings)


def test_answers_are_the_functions_business():
    train = unjudged("train", 2, answers={"any": 1.5})
    given = load(train=train, val=unjudged("val", 2), judge=FUNCTION)
    judge = given.plan.splits.train[0].judge
    assert isinstance(judge, FunctionJudge)
    assert judge.task["answers"] == {"any": 1.5}


def test_another_revision_is_another_run():
    parts = {"train": unjudged("train", 2), "val": unjudged("val", 2)}
    other = FUNCTION.model_copy(update={"revision": "2"})
    assert load(**parts, judge=FUNCTION).plan.identity != load(**parts, judge=other).plan.identity


def test_a_dict_is_the_judge_of_records_without_one():
    given = load(train=unjudged("train", 2, answers="4"), judge={"kind": "exact"})
    assert {item.judge for item in given.plan.splits.train} == {ExactJudge(answer="4")}


def test_fields_map_the_names_of_records():
    train = [{"key": "a", "question": "2 + 2?", "judge": RULE}]
    val = [{"key": "b", "question": "2 + 3?", "judge": RULE}]
    fields = {"id": "key", "task": "question"}
    given = load(train=train, val=val, settings={"fields": fields})
    assert ids(given.plan.splits.train) == ["a"]


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"settings": {"train": {"num_epoch": 1}}},
            "settings: train.num_epoch is not a known key; did you mean 'num_epochs'?",
        ),
        (
            {"settings": {"train": {"num_epochs": "two"}}},
            "settings: train.num_epochs: 'two' is not an integer; give a whole number of at least",
        ),
        ({"settings": {"num_epochs": 1}}, "write train.num_epochs"),
        ({"settings": {"skill": "x"}}, "settings: skill is an argument of its own; give skill=…"),
        ({"settings": {"tasks": "x"}}, "give train, val and test"),
        ({"settings": {"split": {}}}, "give train, val and test"),
        ({"settings": [1]}, "optimize(): settings: [1] does not fit; give a dict"),
        ({"settings": {"train": 3}}, "settings: train: 3 is not a section"),
        ({"settings": {"stop": {"target_score": float("nan")}}}, "stop.target_score: nan is not"),
        ({"settings": {"labels": {"at": Path("x")}}}, "labels.at: PosixPath('x') is of type"),
        ({"settings": {"labels": {3: "x"}}}, "settings: labels: 3 is a key but not a text"),
        ({"settings": {"preferences": "\ud800"}}, "half of a surrogate pair"),
        ({"name": "not a name"}, "optimize(): name: 'not a name' is not allowed"),
        ({"cache": "maybe"}, "optimize(): cache: 'maybe' is not one of on, refresh, off"),
        ({"model": "gpt"}, "optimize(): model.target: no backend is called 'gpt'"),
        ({"model": 3}, "optimize(): model: 3 does not fit; give a dict or the name of a backend"),
        ({"model": {"targets": "sim"}}, "model.target is missing"),
        ({"backends": "mine.yaml"}, "'mine.yaml' does not fit; give a dict or a Path"),
        ({"backends": {"sim": {"kind": "nonsense"}}}, "nonsense"),
        ({"backends": Path("missing.yaml")}, "'missing.yaml' is not a file"),
        ({"judge": {"kind": "function"}}, "judge kind 'function' cannot be written down"),
        ({"judge": {"kind": "rule"}}, "optimize(): judge.checks needs a list"),
        ({"prompts": Path("missing")}, "prompts: 'missing' does not exist"),
        ({"memory": Path("missing.md")}, "memory: 'missing.md' does not exist"),
        ({"memory": 3}, "optimize(): memory: 3 is neither a text nor a Path"),
        ({"skill": Path("missing.md")}, "skill: 'missing.md' does not exist"),
        ({"skill": "  \n"}, "optimize(): skill: the text is empty"),
        ({"skill": None}, "optimize(): skill: None is neither a text nor a Path"),
        ({"skill": "a\0b"}, "optimize(): skill: holds a zero byte"),
        ({"skill": "x" * 1_000_001}, "has 1000001 bytes"),
        ({"skill": "\ud800"}, "optimize(): skill: '\\ud800' holds half of a surrogate pair"),
        ({"train": []}, "train: is empty; give the tasks to learn from"),
        ({"val": []}, "val: is empty"),
        ({"settings": {"evaluation": {"eval_test": True}}}, "test: is empty"),
        ({"train": "tasks.jsonl"}, "train: 'tasks.jsonl' is not a list of task records"),
        ({"val": {"id": "x"}}, "val: {'id': 'x'} is not a list of task records"),
        ({"test": 3}, "test: 3 is not a list of task records"),
        ({"train": ["x"]}, "train[0]: 'x' is not a task record; give a dict"),
        ({"train": [record(1), {"task": "x", "judge": RULE}]}, "train[1]: the record has no 'tas"),
        ({"train": [record(1, gold=object())]}, "train[0]: gold: <object object"),
        ({"train": [record(1, contex="x")]}, "train[0]: field 'contex' is not known"),
        ({"train": [record(1), record(1)]}, "train[1]: task 't-1' is also in train[0]"),
        ({"train": [record(100)]}, "val[0]: task 't-100' is also in train[0]"),
        ({"train": [record(1, split="val")]}, "says split 'val' but is given as train"),
    ],
)
def test_a_mistake_is_named_with_its_place_its_value_and_what_to_do(changes, line):
    assert line in fault(**changes)


def test_every_mistake_is_told_at_once():
    told = fault(
        skill="", model="gpt", train=[{"id": 1}], val=[record(1, judge={"kind": "exact"})]
    ).splitlines()
    assert any("skill" in line for line in told)
    assert any("'gpt'" in line for line in told)
    assert any(line.startswith("train[0]") for line in told)
    assert any(line.startswith("val[0]") for line in told)


def test_a_text_that_names_a_file_is_a_path_forgotten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SKILL.md").write_text(SKILL)
    assert "give Path('SKILL.md') to name a file" in fault(skill="SKILL.md")
    assert load(skill="Answer in one word.").plan.skill == "Answer in one word."
    assert load(skill="x" * 900).plan.skill == "x" * 900


def test_a_task_of_two_splits_is_found_out_although_a_function_judges_it():
    one = {"task": "2 + 2?", "gold": "4"}
    told = fault(
        train=[{"id": "a", **one}], val=[{"id": "b", "tags": ["x"], **one}], judge=FUNCTION
    )
    assert "has the same content as task 'a' of train" in told
    other = [{"id": "b", **one, "gold": "5"}]
    assert load(train=[{"id": "a", **one}], val=other, judge=FUNCTION).warnings


def test_a_deep_or_circular_record_is_refused_not_followed():
    circle: dict[str, Any] = {}
    circle["self"] = circle
    told = fault(train=[record(1, more=circle)])
    assert "nested more than" in told
    assert len(told) < 1_000


@pytest.mark.parametrize("where", ["judge", "train"])
def test_a_spec_file_cannot_name_a_function(workspace: Workspace, where: str):
    kind = {"kind": "function", "function": "os:system", "revision": "1", "task": {}}
    if where == "judge":
        workspace.spec(f"judge: {json.dumps(kind)}\n")
    else:
        workspace.write_records("tasks.jsonl", [record(n, judge=kind) for n in range(6)])
    with pytest.raises((ConfigError, TaskError), match="cannot be written down"):
        workspace.load()

from __future__ import annotations

import pytest
from config_workspace import record

from skillopt.config.difference import describe_changes
from skillopt.config.load import load_aa_plan, load_eval_plan
from skillopt.errors import ConfigError


def load_eval(workspace, **options):
    given = {"environ": {}, "publish_revision": lambda backend: "published-1"} | options
    return load_eval_plan(workspace.folder / "spec.yaml", **given)


def test_a_plan_holds_everything_resolved(workspace):
    loaded = workspace.load()
    plan = loaded.plan
    assert plan.skill == "# Sums\n\nAdd carefully.\n"
    assert plan.judge_versions.keys() == {"rule"}
    assert {"attempt", "merge", "rank"} <= plan.templates.keys()
    assert plan.backends["optimizer"].backend == "sim"
    assert loaded.backends["sim"].revision == "published-1"
    assert plan.backends["target"].fingerprint == loaded.backends["sim"].fingerprint
    assert loaded.skill_path == workspace.folder / "SKILL.md"


def test_labels_are_kept(workspace):
    workspace.spec("labels: {team: sums}\n")
    assert workspace.load().labels == {"team": "sums"}


def test_only_backends_in_use_are_given(workspace):
    workspace.spec(
        "backends:\n  a: {kind: simulated, model: a}\n  b: {kind: simulated}\n",
        model="{target: a, optimizer: sim}",
    )
    assert set(workspace.load().backends) == {"a", "sim"}


def test_an_own_revision_is_not_published_over(workspace):
    workspace.spec("backends: {a: {kind: simulated, revision: mine}}\n", model="{target: a}")
    assert workspace.load().backends["a"].revision == "mine"


@pytest.mark.parametrize(
    ("file", "name"),
    [("spec.yaml", "my-sums-2"), ("other.yaml", "other"), ("...yaml", None)],
)
def test_the_name_follows_from_the_folder_or_the_file(tmp_path, file, name):
    from config_workspace import Workspace

    from skillopt.config.load import load_plan

    workspace = Workspace(tmp_path / "my sums%2")
    (workspace.folder / "spec.yaml").rename(workspace.folder / file)

    def load():
        return load_plan(
            workspace.folder / file, environ={}, publish_revision=lambda backend: "r"
        ).plan.name

    if name is None:
        with pytest.raises(ConfigError, match="no name follows from"):
            load()
    else:
        assert load() == name


# --- the skill


def test_a_skill_folder_is_taken_with_all_its_files(workspace):
    head = "---\nname: sum-skill\ndescription: Adds numbers. Use when there are sums.\n---\n"
    workspace.write("sum-skill/SKILL.md", f"{head}# In a folder\n")
    workspace.write("sum-skill/scripts/run.sh", b"\x00\xff")
    workspace.write("spec.yaml", "skill: sum-skill\ntasks: tasks.jsonl\nmodel: {target: sim}\n")
    loaded = workspace.load()
    assert loaded.plan.skill == f"{head}# In a folder\n"
    assert loaded.skill_path == workspace.folder / "sum-skill" / "SKILL.md"
    assert [(file.path, file.content) for file in loaded.plan.files] == [
        ("scripts/run.sh", b"\x00\xff")
    ]
    assert loaded.warnings == []
    workspace.write("sum-skill/scripts/run.sh", b"other")
    after = workspace.load().plan
    assert after.initial_key != loaded.plan.initial_key
    assert describe_changes(loaded.plan, after) == [
        "file scripts/run.sh of the skill folder changed"
    ]


def test_a_skill_that_is_a_file_has_no_files_beside_it(workspace):
    assert workspace.load().plan.files is None


def test_what_keeps_a_skill_from_being_found_is_a_warning(workspace):
    workspace.write("sum-skill/SKILL.md", "# In a folder\n")
    workspace.write("spec.yaml", "skill: sum-skill\ntasks: tasks.jsonl\nmodel: {target: sim}\n")
    [warning] = workspace.load().warnings
    assert "has no front matter" in warning


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "spec.yaml:1: skill: 's' does not exist; name a markdown file, or a folder with"),
        ({"s/x.md": "x"}, "spec.yaml:1: skill: the folder 's' has no SKILL.md; add it"),
        ({"s": " \n"}, "s: is empty; write at least a sentence"),
        ({"s": b"a\n\xfe\n"}, "s:2: byte 0xfe is not UTF-8; save the file"),
        ({"s": "x" * 1_000_001}, "s: has 1000001 bytes; a skill document may have at most 1000000"),
    ],
)
def test_a_skill_that_cannot_be_trained_is_explained(workspace, faults, files, message):
    for name, content in files.items():
        workspace.write(name, content)
    workspace.write("spec.yaml", "skill: s\ntasks: tasks.jsonl\nmodel: {target: sim}\n")
    assert faults()[0].startswith(message)


def test_paths_are_relative_to_the_file_they_are_written_in(workspace):
    workspace.write("shared/base.yaml", "skill: S.md\nmodel: {target: sim}\n")
    workspace.write("shared/S.md", "# Shared\n")
    workspace.write("spec.yaml", "extends: shared/base.yaml\ntasks: tasks.jsonl\n")
    assert workspace.load().plan.skill == "# Shared\n"


def test_paths_given_with_set_are_relative_to_the_working_directory(
    workspace, tmp_path_factory, monkeypatch
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "other.md").write_text("# Other\n")
    monkeypatch.chdir(elsewhere)
    assert workspace.load(overrides=["skill=other.md"]).plan.skill == "# Other\n"


# --- identity


def test_loading_twice_gives_the_same_run(workspace):
    assert workspace.load().plan == workspace.load().plan


@pytest.mark.parametrize(
    "overrides",
    [["budget.max_calls=5"], ["name=other"], ["labels.team=a"], ["optimizer.use_meta_skill=true"]],
)
def test_budget_name_and_labels_do_not_change_the_identity(workspace, overrides):
    before, after = workspace.load().plan, workspace.load(overrides=overrides).plan
    assert after.identity == before.identity
    assert describe_changes(before, after) == []


@pytest.mark.parametrize(
    ("overrides", "change"),
    [
        (["train.batch_size=4"], ["train.batch_size: 8 -> 4"]),
        (["stop.patience=3"], ["stop.patience: not set -> 3"]),
        (["optimizer.use_meta_skill=false"], ["optimizer.use_meta_skill: true -> false"]),
        (["evaluation.significance=0.4"], ["evaluation.significance: not set -> 0.4"]),
        (["evaluation.no_regression=[all]"], ["evaluation.no_regression: () -> ('all',)"]),
        (["evolve=memory"], ["evolve: 'skill' -> 'memory'", "memory is new"]),
        (["evaluation.eval_test=false"], ["evaluation.eval_test: true -> false"]),
        (["preferences=short"], ["preferences: '' -> 'short'"]),
        (["cache=off"], ["cache: 'on' -> 'off'"]),
    ],
)
def test_a_changed_key_changes_the_identity_and_is_named(workspace, overrides, change):
    before, after = workspace.load().plan, workspace.load(overrides=overrides).plan
    assert after.identity != before.identity
    assert describe_changes(before, after) == change


def test_the_cache_option_is_part_of_the_plan(workspace):
    assert workspace.load(cache="refresh").plan.settings.cache == "refresh"


def test_a_changed_skill_is_named(workspace):
    before = workspace.load().plan
    workspace.write("SKILL.md", "# Sums\n\nAdd twice.\n")
    after = workspace.load().plan
    assert after.identity != before.identity
    assert describe_changes(before, after) == ["skill text changed"]


def split_folder(workspace, **changed):
    for number, split in enumerate(("train", "val", "test")):
        rows = [record(10 * number + n) for n in range(3)]
        workspace.write_records(f"s/{split}.jsonl", changed.get(split, rows))
    workspace.spec("", tasks="s")
    return workspace.load().plan


def test_changed_tasks_are_named(workspace):
    before = split_folder(workspace)
    after = split_folder(
        workspace,
        train=[record(0), record(1, task="Something else."), record(12)],
        val=[record(10), record(11), record(77)],
    )
    assert after.identity != before.identity
    assert describe_changes(before, after) == [
        "task t-1 of train changed",
        "task t-12 moved from val to train",
        "task t-2 of train is gone",
        "task t-77 of val is new",
    ]


def test_many_changed_tasks_are_summed_up(workspace):
    before = workspace.load().plan
    workspace.write_records("tasks.jsonl", [record(n) for n in range(100, 112)])
    changes = describe_changes(before, workspace.load().plan)
    assert len(changes) == 11
    assert changes[-1] == "and 14 more changes of tasks"


def test_a_mere_change_of_order_is_named(workspace):
    before = split_folder(workspace)
    after = workspace.load(overrides=["split.seed=2"]).plan
    assert after.identity != before.identity
    assert all("tasks changed (split.seed)" in line for line in describe_changes(before, after))


def test_changed_templates_and_judges_are_named(workspace):
    before = workspace.load().plan
    after = before.model_copy(
        update={
            "templates": before.templates | {"merge": "other"},
            "judge_versions": {"rule": before.judge_versions["rule"] + 1},
        }
    )
    assert after.identity != before.identity
    changes = describe_changes(before, after)
    assert changes[0] == "template merge changed"
    assert changes[1].startswith("version of the rule judge: ")


def test_a_changed_backend_is_named(workspace):
    before = workspace.load().plan
    other_revision = workspace.load(publish_revision=lambda backend: "published-2").plan
    assert other_revision.identity != before.identity
    assert describe_changes(before, other_revision)[0].startswith(
        "backend of target changed: 'sim' has another model, parameter or revision now"
    )
    workspace.spec("backends: {a: {kind: simulated}}\n", model="{target: a, optimizer: sim}")
    renamed = workspace.load().plan
    assert describe_changes(before, renamed) == ["backend of target changed: 'sim' -> 'a'"]


# --- eval


def test_an_eval_plan_holds_only_what_a_measurement_depends_on(workspace):
    other = workspace.write("other.md", "# Other\n")
    loaded = load_eval(workspace, skill_path=other, split="val")
    plan = loaded.plan
    assert (plan.mode, plan.eval_split, plan.skill) == ("eval", "val", "# Other\n")
    assert plan.splits.train == plan.splits.test == ()
    assert plan.splits.val == workspace.load().plan.splits.val
    assert set(plan.backends) == {"target"}
    assert plan.templates.keys() == {"attempt"}
    assert loaded.skill_path == other


@pytest.mark.parametrize(
    "override",
    [
        "train.batch_size=2", "gradient.copy_guard=block", "optimizer.use_slow_update=false",
        "stop.patience=3", "preferences=short", "evaluation.gate_metric=soft",
        "evaluation.gate_mixed_weight=0.1", "evaluation.use_gate=false",
        "evaluation.significance=0.05", "evaluation.no_regression=[all]",
        "evaluation.early_decision=false", "evaluation.eval_test=false",
        "evaluation.val_limit=1", "evaluation.test_limit=50",
    ],
)  # fmt: skip
def test_an_eval_does_not_depend_on_how_a_document_is_trained(workspace, override):
    before = load_eval(workspace, split="test").plan.identity
    assert load_eval(workspace, split="test", overrides=[override]).plan.identity == before


@pytest.mark.parametrize(
    "override", ["evaluation.samples=2", "evaluation.min_coverage=0.5", "evaluation.test_limit=1"]
)
def test_an_eval_depends_on_how_often_and_on_what_it_measures(workspace, override):
    before = load_eval(workspace, split="test").plan.identity
    assert load_eval(workspace, split="test", overrides=[override]).plan.identity != before


def test_an_eval_measures_with_the_memory_and_may_be_given_another(workspace):
    workspace.write("M.md", "# Remember\n")
    other = workspace.write("other.md", "# Other\n")
    workspace.spec("memory: M.md\n")
    assert load_eval(workspace).plan.memory == "# Remember\n"
    assert load_eval(workspace, memory_path=other).plan.memory == "# Other\n"


def test_an_eval_does_not_judge_the_tasks_of_a_training(workspace):
    workspace.write_records(
        "tasks.jsonl", [record(n, judge={"kind": "exact", "answer": "B"}) for n in range(40)]
    )
    assert load_eval(workspace).lint == []
    assert load_eval(workspace).warnings == []


# --- A/A


def load_aa(workspace, **options):
    given = {"environ": {}, "publish_revision": lambda backend: "published-1"} | options
    return load_aa_plan(workspace.folder / "spec.yaml", **given)


def test_an_aa_plan_measures_val_several_times_as_the_gate_would(workspace):
    workspace.spec("evaluation: {gate_metric: mixed, gate_mixed_weight: 0.3, val_limit: 2}\n")
    loaded = load_aa(workspace, arms=4)
    plan = loaded.plan
    assert (plan.mode, plan.arms, plan.eval_split) == ("aa", 4, None)
    assert plan.name.endswith("-aa")
    assert plan.splits.val == workspace.load().plan.splits.val
    assert plan.splits.train == plan.splits.test == ()
    assert plan.settings.evaluation.gate_mixed_weight == 0.3
    assert set(plan.backends) == {"target"}
    assert plan.templates.keys() == {"attempt"}


def test_the_number_of_arms_and_the_document_make_another_aa_run(workspace):
    other = workspace.write("other.md", "# Other\n")
    plans = [
        load_aa(workspace).plan,
        load_aa(workspace, arms=3).plan,
        load_aa(workspace, skill_path=other).plan,
    ]
    assert len({plan.identity for plan in plans}) == 3
    assert describe_changes(plans[0], plans[1]) == ["arms: 2 -> 3"]
    assert load_aa(workspace, overrides=["train.batch_size=2"]).plan.identity == plans[0].identity


@pytest.mark.parametrize("arms", [1, 0, 101])
def test_an_aa_run_needs_two_arms(workspace, arms):
    with pytest.raises(ConfigError, match=f"--arms: {arms} does not fit; give 2 to 100"):
        load_aa(workspace, arms=arms)


def test_an_eval_needs_only_its_own_split(workspace):
    workspace.write_records("s/test.jsonl", [record(1)])
    workspace.spec("", tasks="s")
    assert len(load_eval(workspace, split="test").plan.splits.test) == 1
    with pytest.raises(ConfigError, match="--split: the split 'valid_seen' is called 'val' here"):
        load_eval(workspace, split="valid_seen")


def test_a_missing_skill_option_is_named(workspace):
    with pytest.raises(ConfigError, match=r"--skill: skill: '.*gone\.md' does not exist"):
        load_eval(workspace, skill_path=workspace.folder / "gone.md")


def test_a_further_run_of_the_same_says_that_nothing_else_differs(workspace):
    before = workspace.load().plan
    after = before.model_copy(update={"replica": 1})
    assert describe_changes(before, after) == ["nothing: it is a further run of the same (--new)"]
    workspace.write("SKILL.md", "# Another\n")
    assert describe_changes(after, workspace.load().plan) == ["skill text changed"]

from __future__ import annotations

import pytest

from skillopt.errors import ConfigError


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "train: {batch_size: x}",
            "spec.yaml:4: train.batch_size: 'x' is not an integer; "
            "give a whole number of at least 1",
        ),
        (
            "train:\n  batchsize: 4",
            "spec.yaml:5: train.batchsize is not a known key; did you mean 'batch_size'?",
        ),
        (
            "train: {zzz: 4}",
            "spec.yaml:4: train.zzz is not a known key; known keys: accumulation, batch_size, "
            "num_epochs, samples, seed",
        ),
        ("trian: {}", "spec.yaml:4: trian is not a known key; did you mean 'train'?"),
        (
            "train: {batch_size: 0}",
            "spec.yaml:4: train.batch_size: 0 is too small; give a whole number of at least 1",
        ),
        ("train: {batch_size: true}", "spec.yaml:4: train.batch_size: True is not an integer;"),
        ("train: {batch_size: 2.5}", "spec.yaml:4: train.batch_size: 2.5 is not an integer;"),
        ("train: {batch_size: }", "spec.yaml:4: train.batch_size has no value; give a whole"),
        ("train: 5", "spec.yaml:4: train: 5 is not a section; write `key: value` lines below it"),
        (
            "gradient: {failure_only: yes}",
            "spec.yaml:4: gradient.failure_only: 'yes' is not true or false; write true or false",
        ),
        (
            "evaluation: {gate_metric: hart}",
            "spec.yaml:4: evaluation.gate_metric: 'hart' is not one of hard, soft, mixed; "
            "did you mean 'hard'?",
        ),
        (
            "evaluation: {min_coverage: 2}",
            "spec.yaml:4: evaluation.min_coverage: 2 is too large; "
            "give a number above 0 and at most 1",
        ),
        (
            "budget: {max_usd: 0}",
            "spec.yaml:4: budget.max_usd: 0 is too small; give a number above",
        ),
        ("preferences: 5", "spec.yaml:4: preferences: 5 is not a text; write it in quotes"),
        (
            "name: has space",
            "spec.yaml:4: name: 'has space' is not allowed; give letters, digits, '.', '_' and '-'",
        ),
        (
            "optimizer: {learning_rate: 1, min_learning_rate: 3}",
            "spec.yaml:4: optimizer: min_learning_rate 3 is above learning_rate 1; lower it",
        ),
        ("env: searchqa", "spec.yaml:4: env: 'searchqa' is not part of this version; write `env"),
        ("cache: maybe", "spec.yaml:4: cache: 'maybe' is not one of on, refresh, off; give on"),
        ("labels: {a: 1}", "spec.yaml:4: labels.a: "),
        (
            "fields: {tsak: question}",
            "spec.yaml:4: fields.tsak: 'tsak' is not a field of a task; did you mean 'task'?",
        ),
        (
            "judge: {kind: rubrik}",
            "spec.yaml:4: judge kind 'rubrik' is not known; known kinds: exact",
        ),
        (
            "judge: {kind: rule, checks: [{op: contians, arg: x}]}",
            "spec.yaml:4: check 1: unknown operation 'contians'; did you mean 'contains'?",
        ),
    ],
)
def test_a_wrong_value_names_place_key_value_and_fix(workspace, faults, more, message):
    workspace.spec(more + "\n")
    assert [line for line in faults() if line.startswith(message)], faults()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("_base_: x.yaml", "_base_ is a key of another tool; write `extends: other.yaml`"),
        (
            "optimizer: {edit_budget: 3}",
            "optimizer.edit_budget is a key of another tool; write opt",
        ),
        (
            "evaluation: {sel_env_num: 3}",
            "sel_env_num is a key of another tool; write evaluation.val_limit",
        ),
        (
            "evaluation: {test_env_num: 3}",
            "test_env_num is a key of another tool; write evaluation.test_limit",
        ),
        ("evaluation: {use_semantic_density: true}", "use_semantic_density is a key of another to"),
        ("evaluation: {leading_words: [a]}", "leading_words is a key of another tool; remove it;"),
        ("optimizer: {meta_learning_rate: 1}", "meta_learning_rate is a key of another tool; rem"),
        ("optimizer: {slow_update: true}", "slow_update is a key of another tool; write optimi"),
        ("gradient: {analyst_workers: 3}", "analyst_workers is a key of another tool; use the op"),
        ("train: {steps_per_epoch: 3}", "steps_per_epoch is a key of another tool; remove it"),
        ("split: {split_mode: ratio}", "split_mode is a key of another tool; remove it; the la"),
        ("env: {exec_timeout: 5}", "env.exec_timeout is not a known key; write timeout_s into"),
        ("out_root: runs", "out_root is a key of another tool; use the option --store DIR"),
        (
            "split: {valid_seen: 3}",
            "split.valid_seen is a key of another tool; the split is called",
        ),
        ("split: {valid_unseen: 3}", "split.valid_unseen is a key of another tool; the split is"),
        ("split: {selection: 3}", "split.selection is a key of another tool; the split is called"),
        ("train: {train_size: 3}", "train.train_size is a key of another tool; remove it"),
        ("env: {split_ratio: 2}", "spec.yaml:4: env.split_ratio is not a known key; write split"),
        ("train: {candidates: 3}", "train.candidates is not part of this version; remove it"),
    ],
)
def test_spellings_of_other_tools_and_later_features_name_ours(workspace, faults, more, message):
    workspace.spec(more + "\n")
    assert message in "\n".join(faults())


@pytest.mark.parametrize(
    ("key", "value", "fix"),
    [
        ("lr_scheduler", "autonomous", "write optimizer.lr_control_mode: autonomous"),
        ("lr_control_mode", "manual", "write fixed"),
        ("lr_control_mode", "scheduled", "write fixed"),
        ("lr_control_mode", "auto", "write autonomous"),
        ("lr_control_mode", "off", "write none"),
        ("skill_update_mode", "edits", "write patch"),
        ("skill_update_mode", "rewrite", "write rewrite_from_suggestions"),
        ("skill_update_mode", "full_rewrite", "write full_rewrite_minibatch"),
    ],
)
def test_words_of_other_tools_name_ours(workspace, faults, key, value, fix):
    workspace.spec(f"optimizer:\n  {key}: {value}\n")
    assert faults() == [f"spec.yaml:5: optimizer.{key}: {value!r} is a word of another tool; {fix}"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("num_epochs: 3", "spec.yaml:4: num_epochs is not a known key; write train.num_epochs"),
        (
            "train: {learning_rate: 3}",
            "spec.yaml:4: train.learning_rate is not a known key; write optimizer.learning_rate",
        ),
        (
            "gradient: {samples: 3}",
            "gradient.samples is not a known key; write train.samples or evaluation.samples",
        ),
    ],
)
def test_a_key_in_the_wrong_section_names_its_section(workspace, faults, more, message):
    workspace.spec(more + "\n")
    assert message in "\n".join(faults())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            "evaluation: {significance: 5}",
            "spec.yaml:4: evaluation.significance: 5 is too large; give a number above 0 and "
            "below 1",
        ),
        (
            "evaluation: {no_regression: all}",
            "spec.yaml:4: evaluation.no_regression: 'all' is not a list; write a list of val "
            "tasks, like [t-1, 'tag:safety'], or [all]",
        ),
        (
            "evaluation: {no_regression: [3]}",
            "spec.yaml:4: evaluation.no_regression[0]: 3 is not a text; write it in quotes",
        ),
        ("evaluation: {val_limit: 0}", "spec.yaml:4: evaluation.val_limit: 0 is too small; give"),
        ("evolve: all", "spec.yaml:4: evolve: 'all' is not one of skill, memory, both; give one"),
        ("memory: ''", "spec.yaml:4: memory: '' is empty; name the memory document, e.g."),
        ("prompts: 3", "spec.yaml:4: prompts: 3 is not a text; name a folder with templates"),
        (
            "gradient: {copy_guard: on}",
            "spec.yaml:4: gradient.copy_guard: 'on' is not one of off, flag, block; give one",
        ),
        (
            "optimizer: {longitudinal_pair_policy: change}",
            "longitudinal_pair_policy: 'change' is not one of mixed, changed, unchanged; did you "
            "mean 'changed'?",
        ),
        (
            "optimizer: {use_slow_update: maybe}",
            "spec.yaml:4: optimizer.use_slow_update: 'maybe' is not true or false; write true",
        ),
    ],
)
def test_a_wrong_value_of_the_loop_is_explained(workspace, faults, more, message):
    workspace.spec(more + "\n")
    assert message in "\n".join(faults())


@pytest.mark.parametrize("mode", ["rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_a_rewrite_cannot_evolve_both_documents(workspace, faults, mode):
    workspace.spec(f"evolve: both\noptimizer: {{skill_update_mode: {mode}}}\n")
    assert faults() == [
        f"spec.yaml:5: optimizer.skill_update_mode: {mode!r} writes one document, but evolve is "
        "'both' (spec.yaml:4); write skill_update_mode: patch, or evolve: skill or memory"
    ]
    workspace.spec(f"evolve: memory\noptimizer: {{skill_update_mode: {mode}}}\n")
    assert workspace.load().plan.settings.optimizer.skill_update_mode == mode


def test_every_setting_of_the_loop_reaches_the_plan(workspace):
    workspace.spec(
        "evolve: both\n"
        "gradient: {contrastive: false, trajectory_tokens: 99, history_tokens: 98, "
        "copy_guard: block}\n"
        "optimizer: {use_slow_update: false, use_meta_skill: false, "
        "use_skill_aware_reflection: true, slow_update_samples: 3, lr_control_mode: none, "
        "slow_update_gate_with_selection: false, longitudinal_pair_policy: changed, "
        "skill_aware_appendix_source: failure_only, skill_aware_consolidate_threshold: 7}\n"
        "evaluation: {use_gate: false, significance: 0.5, no_regression: [all], "
        "early_decision: false, val_limit: 2, test_limit: 1}\n"
    )
    plan = workspace.load().plan
    settings, optimizer = plan.settings, plan.settings.optimizer
    assert settings.evolve == "both"
    assert settings.gradient.model_dump().items() >= {
        ("contrastive", False), ("trajectory_tokens", 99), ("history_tokens", 98),
        ("copy_guard", "block"),
    }  # fmt: skip
    assert optimizer.model_dump().items() >= {
        ("use_slow_update", False), ("use_meta_skill", False), ("slow_update_samples", 3),
        ("use_skill_aware_reflection", True), ("lr_control_mode", "none"),
        ("slow_update_gate_with_selection", False), ("longitudinal_pair_policy", "changed"),
        ("skill_aware_appendix_source", "failure_only"),
        ("skill_aware_consolidate_threshold", 7),
    }  # fmt: skip
    assert settings.evaluation.model_dump().items() >= {
        ("use_gate", False), ("significance", 0.5), ("no_regression", ("all",)),
        ("early_decision", False), ("val_limit", 2), ("test_limit", 1),
    }  # fmt: skip


def test_every_problem_is_reported_in_one_error(workspace, faults):
    workspace.spec("train: {batch_size: x, nmu_epochs: 2}\nbudget: {max_calls: -1}\nzzz: 1\n")
    assert len(faults()) == 4


def test_problems_of_skill_backend_and_tasks_are_reported_together(workspace, faults):
    workspace.write("spec.yaml", "skill: gone.md\ntasks: gone\nmodel: {target: nobody}\n")
    found = faults()
    assert len(found) == 3
    assert "skill: " in found[0]
    assert "no backend is called 'nobody'" in found[1]
    assert "tasks: " in found[2]


def test_missing_keys_say_what_to_add(workspace, faults):
    workspace.write("spec.yaml", "name: x\n")
    assert faults() == [
        "spec.yaml: skill is missing; name the document to train, e.g. `skill: SKILL.md`",
        "spec.yaml: tasks is missing; name a task file or folder, e.g. `tasks: tasks`",
        "spec.yaml: model is missing; name a backend for each role, e.g. "
        "`model: {target: sim, optimizer: sim}`",
    ]


def test_a_problem_from_set_names_the_option(faults):
    assert faults(overrides=["train.batchsize=4", "train.seed=x"]) == [
        "--set: train.seed: 'x' is not an integer; give a whole number",
        "--set: train.batchsize is not a known key; did you mean 'batch_size'?",
    ]


def test_a_problem_in_an_extended_file_names_that_file(workspace, faults):
    workspace.write("base.yaml", "\ntrain:\n  batch_size: 0\n")
    workspace.spec("extends: base.yaml\n")
    assert faults()[0].startswith("base.yaml:3: train.batch_size: 0 is too small")


def test_an_empty_section_means_the_defaults(workspace):
    workspace.spec("train:\n  # batch_size: 4\nbudget:\n")
    assert workspace.load().plan.settings.train.batch_size == 8


def test_a_role_may_be_given_as_a_mapping(workspace):
    workspace.spec("", model="{target: {use: sim}, optimizer: {use: sim}}")
    assert workspace.load().plan.backends["target"].backend == "sim"


def test_a_role_takes_no_other_key(workspace, faults):
    workspace.spec("", model="{target: {use: sim, price: 0}, optimizer: {us: sim}}")
    text = "\n".join(faults())
    assert "model.target.price is not a known key; known keys: params, use" in text
    assert "model.optimizer.us is not a known key; did you mean 'use'?" in text


def test_several_targets_are_refused_with_what_to_write(workspace, faults):
    workspace.spec("", model="{targets: [a, b]}")
    assert "model.targets is not part of this version; name one backend with model.target" in (
        "\n".join(faults())
    )


def test_a_small_learning_rate_needs_no_minimum(workspace):
    workspace.spec("optimizer: {learning_rate: 1}\n")
    assert workspace.load().plan.settings.optimizer.min_learning_rate == 1


def test_an_unknown_cache_mode_is_refused(workspace):
    with pytest.raises(ConfigError, match="--cache: 'yes' is not one of on, refresh, off"):
        workspace.load(cache="yes")

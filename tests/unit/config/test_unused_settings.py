from __future__ import annotations

import pytest
from config_workspace import record


@pytest.mark.parametrize(
    ("more", "warning"),
    [
        (
            "optimizer: {use_slow_update: false, slow_update_gate_with_selection: false}",
            "optimizer.slow_update_gate_with_selection: False is not used: "
            "optimizer.use_slow_update is false",
        ),
        (
            "optimizer: {use_slow_update: false, use_meta_skill: false, slow_update_samples: 3}",
            "optimizer.slow_update_samples: 3 is not used: optimizer.use_slow_update and "
            "optimizer.use_meta_skill are false",
        ),
        (
            "optimizer: {longitudinal_pair_policy: changed}\ntrain: {num_epochs: 1}",
            "optimizer.longitudinal_pair_policy: 'changed' is not used: train.num_epochs is 1, so "
            "there is no epoch to compare with",
        ),
        (
            "optimizer: {skill_aware_appendix_source: failure_only}",
            "optimizer.skill_aware_appendix_source: 'failure_only' is not used: "
            "optimizer.use_skill_aware_reflection is false",
        ),
        (
            "optimizer: {skill_aware_consolidate_threshold: 4}",
            "optimizer.skill_aware_consolidate_threshold: 4 is not used: "
            "optimizer.use_skill_aware_reflection is false",
        ),
        (
            "optimizer: {lr_control_mode: none, learning_rate: 9}",
            "optimizer.learning_rate: 9 is not used: optimizer.lr_control_mode or "
            "skill_update_mode sets no limit to the edits",
        ),
        (
            "optimizer: {lr_scheduler: constant, min_learning_rate: 1}",
            "optimizer.min_learning_rate: 1 is not used: optimizer.lr_scheduler is constant",
        ),
        (
            "evaluation: {gate_mixed_weight: 0.2}",
            "evaluation.gate_mixed_weight: 0.2 is not used: evaluation.gate_metric is not mixed",
        ),
        (
            "evaluation: {eval_test: false, test_limit: 3}",
            "evaluation.test_limit: 3 is not used: evaluation.eval_test is false",
        ),
    ],
)
def test_a_setting_that_changes_nothing_is_named_with_the_reason(workspace, more, warning):
    workspace.spec(more + "\n")
    assert workspace.load().warnings == [f"{workspace.folder}/spec.yaml:4: {warning}"]


@pytest.mark.parametrize(
    "more",
    [
        "optimizer: {slow_update_samples: 3, longitudinal_pair_policy: unchanged}",
        "optimizer: {use_slow_update: false, slow_update_samples: 3}",
        "optimizer: {use_meta_skill: false, slow_update_samples: 3}",
        "optimizer: {use_slow_update: false, slow_update_gate_with_selection: true}",
        "optimizer: {use_skill_aware_reflection: true, skill_aware_consolidate_threshold: 4}",
        "optimizer: {lr_control_mode: autonomous, learning_rate: 9}",
        "evaluation: {gate_metric: mixed, gate_mixed_weight: 0.2}",
        "evaluation: {test_limit: 3}",
    ],
)
def test_a_setting_that_is_used_or_has_its_default_is_not_named(workspace, more):
    workspace.spec(more + "\n")
    assert workspace.load().warnings == []


def test_a_level_that_no_result_can_reach_is_a_warning_with_what_it_takes(workspace):
    # 12 tasks: 6 train, 3 val; 2 epochs of 1 step and one slow update make 3 gates.
    workspace.spec("evaluation: {significance: 0.05}\n")
    assert workspace.load().warnings == [
        "evaluation.significance: 0.05 spread over 3 gates leaves each 0.017, but even a gain on "
        "all 3 val tasks has a p-value of 0.12: nothing can be accepted; give at least 6 val "
        "tasks, plan fewer steps, or raise it"
    ]


def test_the_number_of_val_tasks_that_the_warning_names_is_just_enough(workspace):
    def warnings(val: int) -> list[str]:
        workspace.write_records("s/train.jsonl", [record(n) for n in range(6)])
        workspace.write_records("s/val.jsonl", [record(n) for n in range(10, 10 + val)])
        workspace.write_records("s/test.jsonl", [record(99)])
        workspace.spec("evaluation: {significance: 0.05}\n", tasks="s")
        return workspace.load().warnings

    assert "give at least 6 val tasks" in warnings(5)[0]
    assert warnings(6) == []


def test_a_limit_of_val_counts_for_what_the_gate_can_reach(workspace):
    workspace.write_records("tasks.jsonl", [record(n) for n in range(60)])
    workspace.spec("evaluation: {significance: 0.05}\n")
    assert workspace.load().warnings == []
    assert "all 2 val tasks" in workspace.load(overrides=["evaluation.val_limit=2"]).warnings[0]


def test_a_document_over_its_limit_from_the_start_is_told(workspace):
    workspace.spec("optimizer: {max_skill_tokens: 3}\n")
    [warning] = workspace.load().warnings
    assert warning.startswith("optimizer.max_skill_tokens: 3, but the document has about 6 tokens")
    workspace.spec("optimizer: {max_skill_tokens: 6}\n")
    assert workspace.load().warnings == []


@pytest.mark.parametrize(
    ("more", "is_told"),
    [
        ("learning_rate: 0", True),
        ("learning_rate: 1", False),
        ("learning_rate: 0, lr_control_mode: autonomous", False),
    ],
)
def test_steps_that_may_edit_nothing_are_told(workspace, more, is_told):
    workspace.spec(f"optimizer: {{{more}}}\n")
    told = [line for line in workspace.load().warnings if "lets no step edit" in line]
    assert bool(told) is is_told

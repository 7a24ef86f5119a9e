from __future__ import annotations

import pytest
from config_workspace import ids, record, sizes
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.splitting import parse_ratio, share
from skillopt.errors import ConfigError


def test_the_split_does_not_depend_on_the_order_of_lines(workspace):
    first = workspace.load().plan
    workspace.write_records("tasks.jsonl", [record(n) for n in reversed(range(12))])
    assert workspace.load().plan.splits == first.splits


def test_the_split_depends_on_its_seed_only(workspace):
    first = workspace.load().plan.splits
    assert workspace.load(overrides=["train.seed=1"]).plan.splits == first
    assert workspace.load(overrides=["split.seed=1"]).plan.splits != first


def test_splits_are_disjoint_and_complete(workspace):
    splits = workspace.load().plan.splits
    every = [*ids(splits.train), *ids(splits.val), *ids(splits.test)]
    assert sorted(every) == sorted(f"t-{n}" for n in range(12))


def test_limit_keeps_the_first_of_each_split(workspace):
    full = workspace.load().plan.splits
    capped = workspace.load(limit=2).plan.splits
    assert capped.train == full.train[:2]
    assert capped.val == full.val[:2]
    assert capped.test == full.test[:2]


def test_a_limit_of_nothing_is_refused(workspace):
    with pytest.raises(ConfigError, match="--limit: 0 is too small; give at least 1"):
        workspace.load(limit=0)


@pytest.mark.parametrize(
    ("count", "weights", "counts"),
    [
        (3, (2, 1, 1), [1, 1, 1]),
        (10, (2, 1), [7, 3]),
        (4, (1, 1, 1), [2, 1, 1]),
        (0, (2, 1), [0, 0]),
        (5, (1, 0, 1), [3, 0, 2]),
    ],
)
def test_shares_go_by_largest_remainder(count, weights, counts):
    assert share(count, weights) == counts


@given(
    st.integers(0, 500),
    st.lists(st.integers(0, 9), min_size=2, max_size=3).filter(lambda weights: sum(weights) > 0),
)
def test_shares_use_every_task_and_stay_within_one_of_their_weight(count, weights):
    counts = share(count, weights)
    assert sum(counts) == count
    for part, weight in zip(counts, weights, strict=True):
        assert abs(part - count * weight / sum(weights)) < 1


@pytest.mark.parametrize(
    ("text", "parts", "message"),
    [
        ("2:1:1", 2, "'2:1:1' does not fit here; give 2 whole numbers for train:val"),
        ("2:1", 3, "'2:1' does not fit here; give 3 whole numbers for train:val:test"),
        ("a:b", 2, "'a:b' does not fit here"),
        ("2", 2, "'2' does not fit here"),
        ("0:0", 2, "'0:0' adds up to nothing"),
    ],
)
def test_a_bad_ratio_says_what_to_give(text, parts, message):
    with pytest.raises(ConfigError) as caught:
        parse_ratio(text, parts)
    assert f"split.ratio: {message}" in str(caught.value)


def test_a_bad_ratio_names_its_line(workspace, faults):
    workspace.spec("split:\n  ratio: 2:1\n")
    assert faults()[0].startswith("spec.yaml:5: split.ratio: '2:1' does not fit here")


def test_an_empty_split_names_the_counts_and_the_fix(workspace, faults):
    workspace.write_records("tasks.jsonl", [record(1), record(2)])
    workspace.spec("split: {ratio: '1:1:0'}\n")
    assert faults() == [
        "tasks.jsonl: test is empty (the tasks give train 1, val 1, test 0); add tasks, or change "
        "split.ratio, or set evaluation.eval_test: false"
    ]
    workspace.spec("split: {ratio: '1:1:0'}\nevaluation: {eval_test: false}\n")
    assert sizes(workspace.load()) == (1, 1, 0)


def test_a_benchmark_folder_without_held_out_has_no_test(workspace, faults):
    workspace.write_records("bench/benchmark.jsonl", [record(n) for n in range(9)])
    workspace.spec("", tasks="bench")
    assert "test is empty (the tasks give train 6, val 3, test 0)" in faults()[0]
    assert "held-out.jsonl" in faults()[0]


def test_a_split_folder_without_val_is_refused(workspace, faults):
    workspace.write_records("s/train.jsonl", [record(1)])
    workspace.write_records("s/test.jsonl", [record(2)])
    workspace.spec("", tasks="s")
    assert (
        "s: val is empty (the tasks give train 1, val 0, test 1); put task files into"
        in (faults()[0])
    )


def test_the_same_id_twice_names_both_lines(workspace, faults):
    records = [record(n) for n in range(12)]
    workspace.write_records("tasks.jsonl", [*records, record(30, task_id="t-4")])
    found = faults()
    assert len(found) == 1
    assert "task 't-4' is also in tasks.jsonl:" in found[0]
    assert {"tasks.jsonl:5", "tasks.jsonl:13"} == {
        part.rstrip(":;") for part in found[0].split() if part.startswith("tasks.jsonl:")
    }


def test_the_same_content_in_two_splits_names_both_tasks(workspace, faults):
    workspace.write_records("s/train.jsonl", [record(1)])
    workspace.write_records("s/val.jsonl", [record(2)])
    workspace.write_records("s/test.jsonl", [record(1, task_id="copy", tags=["x"])])
    workspace.spec("", tasks="s")
    assert faults() == [
        "s/test.jsonl:1: task 'copy' of test has the same content as task 't-1' of train "
        "(s/train.jsonl:1); remove one, the splits must be disjoint"
    ]


def test_a_record_that_contradicts_its_folder_is_refused(workspace, faults):
    workspace.write_records("s/train.jsonl", [record(1, split="test")])
    workspace.write_records("s/val.jsonl", [record(2)])
    workspace.spec("", tasks="s")
    assert "s/train.jsonl:1: task 't-1' says split 'test' but lies in train" in faults()[0]


def test_either_all_records_name_a_split_or_none(workspace, faults):
    workspace.write_records("tasks.jsonl", [record(1, split="train"), record(2)])
    assert faults()[0].startswith("tasks.jsonl:2: task 't-2' has no split, but others of its file")


def test_a_prompt_of_another_split_that_is_judged_otherwise_is_a_warning(workspace):
    workspace.write_records("s/train.jsonl", [record(1)])
    workspace.write_records("s/val.jsonl", [record(2)])
    other = {"kind": "exact", "answer": "quite another"}
    workspace.write_records("s/test.jsonl", [record(1, task_id="again", judge=other)])
    workspace.spec("", tasks="s")
    [warning] = workspace.load().warnings
    assert "task 'again' of test asks the same as task 't-1' of train" in warning

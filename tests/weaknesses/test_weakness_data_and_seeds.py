"""Data and seeds: splits that are what they say, and samples that know nothing of each other."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest
from config_workspace import Workspace, record
from scripted_run import ScriptedRun, item, make_plan
from weakness_parts import finish

from producer.artifacts import write_records
from producer.run_folder import RunFolder
from skillopt.domain.item import SPLITS, Splits
from skillopt.domain.plan import RunPlan
from skillopt.errors import InputError
from skillopt.loop.sample import batch_of, shards_of, slow_order, steps_per_epoch

# --- 24: data hygiene -----------------------------------------------------------------------------


def divided(*changes: dict[str, object]) -> list[dict[str, object]]:
    """Nine records, three of each split; the changes are of the last ones."""
    records = [record(n, split=SPLITS[n % 3]) for n in range(9)]
    for place, change in enumerate(changes, start=1):
        records[-place] = records[-place] | change
    return records


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ([{"task_id": "t-0"}], "task 't-0' is also in"),
        ([{"task": "Add the numbers of page 1."}], "the splits must be disjoint"),
        ([{"split": "valid_seen"}], "split 'valid_seen'"),
        ([{"split": "anything"}], "split 'anything'"),
    ],
    ids=["the same id", "the same content", "another tool's split", "no split at all"],
)
def test_w24_splits_that_overlap_or_do_not_exist_are_refused(
    workspace: Workspace, changes, message
):
    """The defect: duplicates went unnoticed and an unknown split quietly became val."""
    workspace.write_records("tasks.jsonl", divided())
    assert workspace.load().plan.splits.val, "without the change it is in order"
    workspace.write_records("tasks.jsonl", divided(*changes))
    with pytest.raises(InputError, match=message):
        workspace.load()


def test_w24_an_empty_split_is_refused(workspace: Workspace):
    """The defect: a handful of tasks left val empty, and the run began all the same."""
    workspace.write_records("tasks.jsonl", [record(n) for n in range(2)])
    with pytest.raises(InputError, match="empty"):
        workspace.load()
    workspace.write_records("tasks.jsonl", [record(n, split="train") for n in range(6)])
    with pytest.raises(InputError, match="val and test are empty"):
        workspace.load()


def test_w24_one_record_is_one_task(workspace: Workspace):
    """The defect: a file with a single record gave the fields of the record as tasks."""
    for split, number in zip(SPLITS, range(3), strict=True):
        one = {key: value for key, value in record(number).items()}
        workspace.write(f"tasks/{split}.jsonl", json.dumps(one))
    workspace.spec("", tasks="tasks")
    splits = workspace.load().plan.splits
    assert [[one.id for one in splits.of(split)] for split in SPLITS] == [["t-0"], ["t-1"], ["t-2"]]


def test_w24_where_there_are_no_tasks_nothing_else_is_taken_for_them(workspace: Workspace):
    """The defect: a missing path meant the working directory."""
    for tasks in ("''", "absent.jsonl", "."):
        workspace.spec("", tasks=tasks)
        with pytest.raises(InputError, match="tasks"):
            workspace.load()


def test_w24_a_task_id_is_never_a_path(tmp_path: Path):
    """The defect: the id of a task was a folder's name, whatever it held."""
    hostile = ["../../up", "/absolute", "a/b", "..", "con:nul"]
    splits = Splits(
        train=tuple(item(f"train {name}", "alpha") for name in hostile),
        val=tuple(item(name, "alpha") for name in hostile),
        test=(item("../test", "alpha"),),
    )
    run = finish(ScriptedRun(make_plan(splits=splits)))
    folder = RunFolder(tmp_path / "deep" / "run")
    folder.create(run.plan, {})
    folder.mirror(run.log())
    folder.derive(run.state)
    assert write_records(folder, run.store.state(), run.state, run)
    outside = [path for path in tmp_path.rglob("*") if not path.is_relative_to(folder.path)]
    assert outside == [tmp_path / "deep"]
    assert {path.name for path in folder.path.iterdir() if path.is_dir()} == {"skills", "rollouts"}
    assert all(any(folder.records(item=name)) for name in hostile)


# --- 35: seeds ------------------------------------------------------------------------------------


def many(seed: int) -> RunPlan:
    train = tuple(item(f"train-{n}", f"word{n}") for n in range(24))
    splits = Splits(train=train, val=(item("val", "word"),))
    settings = {"train": {"num_epochs": 8, "batch_size": 24, "seed": seed}}
    return make_plan(splits=splits, settings=settings)


def orders(plan: RunPlan, epochs: range) -> dict[tuple[str, int], tuple[str, ...]]:
    """Give every order that a run draws, by what it is for."""
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    assert steps_per_epoch(plan) == 1
    for epoch in epochs:
        batch = batch_of(plan, epoch)
        shards = shards_of(plan, epoch, plan.splits.train)
        found["batch", epoch] = tuple(one.id for one in batch)
        found["shards", epoch] = tuple(one.id for shard in shards for one in shard)
        found["compared", epoch] = tuple(one.id for one in slow_order(plan, epoch))
    return found


def test_w35_no_sample_repeats_another():
    """The defect: the tasks compared after epoch 2 were the head of epoch 4's first batch."""
    heads: dict[tuple[str, ...], tuple[int, tuple[str, int]]] = {}
    for seed in (0, 1, 42, 1042, 2042, 1000):
        for purpose, order in orders(many(seed), range(1, 9)).items():
            head = order[:6]
            known = heads.setdefault(head, (seed, purpose))
            assert known == (seed, purpose), f"{known} and {(seed, purpose)} draw the same"
    assert len(heads) == 6 * 3 * 8


def test_w35_samples_overlap_no_more_than_chance_makes_them():
    """The defect: two samples of a run shared their tasks because their seeds were sums."""
    shared = []
    for seed in range(40):
        drawn = orders(many(seed), range(1, 5))
        for epoch, other in product(range(1, 5), range(1, 5)):
            compared, batch = drawn["compared", epoch][:6], drawn["batch", other][:6]
            shared.append(len(set(compared) & set(batch)))
    # Six of 24 share 1.5 with six others on average.
    assert sum(shared) / len(shared) == pytest.approx(1.5, abs=0.15)


def test_w35_the_order_of_a_run_follows_from_its_seed_alone():
    assert orders(many(7), range(1, 9)) == orders(many(7), range(1, 9))
    assert orders(many(7), range(1, 9)) != orders(many(8), range(1, 9))

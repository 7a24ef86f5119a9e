"""What `train` and `gradient` change."""

from __future__ import annotations

from key_runs import LoopRow, asked, final_text, first, samples, seen, splits, stages
from scripted_run import ScriptedRun
from setting_models import Fickle

from skillopt.domain.edits import Edit
from skillopt.domain.events import Merged, Proposed, Reflected, Skipped, StepStarted
from skillopt.domain.item import Item

#: Long enough for the copy guard to take it for the task's own.
LONG_WORDS = ("extraordinarily", "incomprehensible", "misunderstanding", "straightforward")
LONG_TASK = f"Greet the guest. {'He likes long greetings. ' * 40}Say alpha?"


def epochs(one: ScriptedRun, three: ScriptedRun) -> None:
    assert [step.epoch for step in seen(one, StepStarted)] == [1, 1]
    assert [step.epoch for step in seen(three, StepStarted)] == [1, 1, 2, 2, 3, 3]


def batches(two: ScriptedRun, four: ScriptedRun) -> None:
    assert [len(step.items) for step in seen(two, StepStarted)] == [2] * 8
    assert [len(step.items) for step in seen(four, StepStarted)] == [4] * 4


def accumulated(one: ScriptedRun, three: ScriptedRun) -> None:
    assert [len(step.items) for step in seen(one, StepStarted)] == [2] * 8
    assert [len(step.items) for step in seen(three, StepStarted)] == [6, 2] * 2


def attempts(one: ScriptedRun, three: ScriptedRun) -> None:
    for run, expected in ((one, {0}), (three, {0, 1, 2})):
        assert samples(run, "step 1 / rollout") == expected
        assert samples(run, "step 1 / gate") == {0}


def order_of_tasks(one: ScriptedRun, other: ScriptedRun) -> None:
    first_epochs = [
        [task for step in seen(run, StepStarted) if step.epoch == 1 for task in step.items]
        for run in (one, other)
    ]
    assert sorted(first_epochs[0]) == sorted(first_epochs[1])
    assert first_epochs[0] != first_epochs[1]


def shards(two: ScriptedRun, four: ScriptedRun) -> None:
    for run, sizes in ((two, [2, 2]), (four, [4])):
        groups = first(run, Reflected).groups
        assert [len(group.items) for group in groups] == sizes
        assert [group.shard for group in groups] == list(range(len(sizes)))


def merge_tree(two: ScriptedRun, four: ScriptedRun) -> None:
    trees = [
        [(merge.level, merge.inputs) for merge in first(run, Merged).merges] for run in (two, four)
    ]
    assert trees == [[(1, 2), (1, 2), (2, 4)], [(1, 4)]]


def successes(both: ScriptedRun, failures: ScriptedRun) -> None:
    def kinds(run: ScriptedRun) -> set[str]:
        return {group.kind for event in seen(run, Reflected) for group in event.groups}

    assert kinds(both) == {"failure", "success"}
    assert kinds(failures) == {"failure"}
    assert "reflect_success" in stages(both) - stages(failures)


def contrasts(shown: ScriptedRun, apart: ScriptedRun) -> None:
    groups = first(shown, Reflected).groups
    mixed = {task for group in groups if group.kind == "contrast" for task in group.items}
    assert mixed
    assert all("Passed:" in text and "Failed:" in text for text in asked(shown, "reflect_contrast"))
    by_kind = {
        kind: {
            t for group in first(apart, Reflected).groups if group.kind == kind for t in group.items
        }
        for kind in ("failure", "success", "contrast")
    }
    assert by_kind["contrast"] == set()
    assert by_kind["failure"] & by_kind["success"] == mixed, "what is no contrast is in both"


def length_of_attempts(short: ScriptedRun, long: ScriptedRun) -> None:
    assert all("Say alpha?" in text for text in asked(short, "reflect_failure")), "the end stays"
    for text in asked(short, "reflect_failure"):
        assert LONG_TASK not in text
        assert f"[… {len(LONG_TASK) - 50} characters left out …]" in text
    for text in asked(long, "reflect_failure"):
        assert LONG_TASK in text
        assert "left out" not in text


def length_of_history(short: ScriptedRun, long: ScriptedRun) -> None:
    newest, everything = asked(short, "reflect_failure")[-1], asked(long, "reflect_failure")[-1]
    for step in (1, 2, 3):
        assert f"- Step {step} was" in everything
        assert (f"- Step {step} was" in newest) == (step == 3), "the newest step stays"
    assert "- 2 earlier steps are left out here." in newest
    assert "left out here" not in everything


def copies(off: ScriptedRun, flag: ScriptedRun, block: ScriptedRun) -> None:
    for run, flagged in ((off, False), (flag, True)):
        edits = [edit for group in first(run, Reflected).groups for edit in group.edits]
        assert len(edits) == 4
        for edit in edits:
            assert isinstance(edit, Edit)
            word = edit.content.split()[-1].strip(".")
            assert edit.copied_from == ((f"train-{word}",) if flagged else ())
        assert len(first(run, Proposed).copied_from) == (4 if flagged else 0)
        assert all(f"Always say {word}." in final_text(run) for word in LONG_WORDS)
    groups = first(block, Reflected).groups
    assert [len(group.edits) for group in groups] == [0, 0]
    assert [len(group.blocked) for group in groups] == [2, 2]
    assert not seen(block, Proposed)
    assert "the copy guard took out all 4" in first(block, Skipped).detail
    assert final_text(block) == block.plan.skill


def _long_task() -> dict[str, object]:
    plain = splits(["alpha"])
    [task] = plain.train
    long = Item(
        id=task.id, prompt=task.prompt.model_copy(update={"task": LONG_TASK}), judge=task.judge
    )
    return {"splits": plain.model_copy(update={"train": (long,)})}


ROWS = (
    LoopRow("train.num_epochs", (1, 3), epochs),
    LoopRow("train.batch_size", (2, 4), batches),
    LoopRow("train.accumulation", (1, 3), accumulated, {"train.batch_size": 2}),
    LoopRow("train.samples", (1, 3), attempts),
    LoopRow("train.seed", (1, 2), order_of_tasks),
    LoopRow("gradient.minibatch_size", (2, 4), shards),
    LoopRow("gradient.merge_batch_size", (2, 4), merge_tree, {"gradient.minibatch_size": 1}),
    LoopRow("gradient.failure_only", (False, True), successes),
    LoopRow(
        "gradient.contrastive", (True, False), contrasts, {"train.samples": 2}, models=Fickle()
    ),
    LoopRow(
        "gradient.trajectory_tokens",
        (50, 1_500),
        length_of_attempts,
        {"train.num_epochs": 1},
        plan=_long_task(),
    ),
    LoopRow(
        "gradient.history_tokens",
        (50, 2_000),
        length_of_history,
        {"train.num_epochs": 1, "train.batch_size": 2},
    ),
    LoopRow(
        "gradient.copy_guard",
        ("off", "flag", "block"),
        copies,
        plan={"splits": splits(LONG_WORDS, [*LONG_WORDS, "unknown"])},
    ),
)

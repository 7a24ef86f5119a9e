from __future__ import annotations

import pytest
from config_workspace import ids, record

from skillopt.config.difference import describe_changes
from skillopt.domain.skill_folder import SkillFile

# --- memory


@pytest.mark.parametrize(
    ("more", "memory", "evolving"),
    [
        ("", None, ("skill",)),
        ("memory: M.md\n", "# Facts\n", ("skill",)),
        ("evolve: memory\n", "", ("memory",)),
        ("evolve: both\n", "", ("skill", "memory")),
        ("evolve: memory\nmemory: M.md\n", "# Facts\n", ("memory",)),
        ("evolve: both\nmemory: M.md\n", "# Facts\n", ("skill", "memory")),
    ],
)
def test_a_memory_is_shown_if_there_is_one_and_starts_empty_if_it_evolves(
    workspace, more, memory, evolving
):
    workspace.write("M.md", "# Facts\n")
    workspace.spec(more)
    plan = workspace.load().plan
    assert plan.memory == memory
    assert plan.evolving == evolving


def test_a_memory_that_is_not_there_is_named_with_its_line(workspace, faults):
    workspace.spec("evolve: both\nmemory: gone.md\n")
    [fault] = faults()
    assert fault.startswith("spec.yaml:5: memory: ")
    assert "gone.md" in fault


def test_a_changed_memory_makes_another_run_and_is_named(workspace):
    workspace.write("M.md", "# Facts\n")
    without = workspace.load().plan
    workspace.spec("memory: M.md\n")
    before = workspace.load().plan
    workspace.write("M.md", "# Other facts\n")
    after = workspace.load().plan
    assert len({plan.identity for plan in (without, before, after)}) == 3
    assert describe_changes(before, after) == ["memory text changed"]
    assert describe_changes(without, before) == ["memory is new"]
    assert describe_changes(before, without) == ["memory is gone"]


def test_changed_files_beside_the_skill_are_named(workspace):
    plain = workspace.load().plan

    def folder(**files: bytes):
        listed = tuple(SkillFile.of(f"{name}.md", content) for name, content in files.items())
        return plain.model_copy(update={"files": listed})

    before = folder(a=b"1", b=b"2")
    assert describe_changes(before, folder(a=b"3", c=b"4")) == [
        "file a.md of the skill folder changed",
        "file b.md of the skill folder is gone",
        "file c.md of the skill folder is new",
    ]
    assert describe_changes(plain, folder()) == ["skill was a file and is a folder"]


# --- limits


def test_limits_keep_the_first_tasks_of_val_and_test(workspace):
    full = workspace.load().plan.splits
    workspace.spec("evaluation: {val_limit: 2, test_limit: 1}\n")
    cut = workspace.load().plan.splits
    assert (cut.train, cut.val, cut.test) == (full.train, full.val[:2], full.test[:1])


def test_the_option_cuts_what_the_limits_leave(workspace):
    full = workspace.load().plan.splits
    workspace.spec("evaluation: {val_limit: 2, test_limit: 100}\n")
    cut = workspace.load(limit=1).plan.splits
    assert (cut.train, cut.val, cut.test) == (full.train[:1], full.val[:1], full.test[:1])
    assert workspace.load(limit=3).plan.splits.val == full.val[:2]


# --- no_regression


@pytest.fixture
def divided(workspace):
    workspace.write_records("s/train.jsonl", [record(n, tags=["seen"]) for n in range(3)])
    workspace.write_records("s/val.jsonl", [record(n, tags=["safety"]) for n in range(3, 6)])
    workspace.write_records("s/test.jsonl", [record(9)])

    def write(entries: str, more: str = "") -> None:
        workspace.spec(f"evaluation:\n  no_regression: {entries}\n{more}", tasks="s")

    return write


@pytest.mark.parametrize("entries", ["[all]", "[t-3, t-4]", "['tag:safety']", "[]"])
def test_val_tasks_can_be_protected_by_id_by_tag_or_all(workspace, divided, entries):
    divided(entries)
    assert workspace.load().warnings == []


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ("[t-33]", "'t-33' is the id of no val task; did you mean 't-3'?"),
        ("[zzz]", "'zzz' is the id of no val task; give ids, 'tag:NAME' or 'all'"),
        ("[t-1]", "'t-1' is a task of train; name tasks of val, which is what a gate looks at"),
        ("[t-9]", "'t-9' is a task of test; name tasks of val"),
        ("[safety]", "'safety' is the id of no val task; write 'tag:safety' for the tag"),
        ("['tag:safty']", "'tag:safty' is the tag of no val task; did you mean 'safety'?"),
        ("['tag:seen']", "'tag:seen' is the tag of no val task; known tags: safety"),
    ],
)
def test_an_entry_that_protects_nothing_is_refused(divided, faults, entries, message):
    divided(entries)
    assert faults()[0].startswith(f"spec.yaml:5: evaluation.no_regression: {message}")


def test_a_task_that_val_limit_leaves_out_cannot_be_protected(workspace, divided, faults):
    divided("[]")
    last = ids(workspace.load().plan.splits.val)[-1]
    divided(f"[{last}]", "  val_limit: 2\n")
    assert f"{last!r} is the id of no val task" in faults()[0]


def test_a_smoke_run_may_leave_protected_tasks_out(workspace, divided):
    divided("[t-3, t-4, t-5]")
    assert len(workspace.load(limit=1).plan.splits.val) == 1

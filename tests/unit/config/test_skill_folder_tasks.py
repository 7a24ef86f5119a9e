"""All that lies in a skill's folder is part of the skill: tasks do not belong there."""

from __future__ import annotations

from pathlib import Path

import pytest

SPEC = "skill: {skill}\ntasks: {tasks}\nmodel: {{target: sim}}\n"


@pytest.mark.parametrize(("skill", "tasks"), [(".", "tasks.jsonl"), (".", "."), ("pack", "pack")])
def test_tasks_in_the_skill_folder_are_refused_with_two_ways_out(workspace, faults, skill, tasks):
    workspace.write("pack/SKILL.md", "# Sums\n")
    (workspace.folder / "pack" / "train.jsonl").write_bytes(
        (workspace.folder / "tasks.jsonl").read_bytes()
    )
    workspace.write("spec.yaml", SPEC.format(skill=skill, tasks=tasks))
    assert any(
        "lies in the skill's own folder" in fault and "move them out, or name" in fault
        for fault in faults()
    )


def test_a_folder_beside_its_tasks_is_fine(workspace):
    workspace.write("pack/SKILL.md", "---\nname: pack\ndescription: Adds.\n---\n# Sums\n")
    workspace.write("pack/references/units.md", "kg\n")
    workspace.write("spec.yaml", SPEC.format(skill="pack", tasks="tasks.jsonl"))
    plan = workspace.load().plan
    assert [Path(file.path).name for file in plan.files] == ["units.md"]


def test_a_skill_file_beside_its_tasks_is_a_file(workspace):
    assert workspace.load().plan.files is None

from __future__ import annotations

import pytest

from skillopt.config.difference import describe_changes
from skillopt.config.load import load_eval_plan
from skillopt.loop.templates import NAMES, packaged


def test_a_file_of_the_folder_takes_the_place_of_a_packaged_template(workspace):
    before = workspace.load().plan
    workspace.write("prompts/rank.md", "Choose the edits.\n")
    workspace.write("prompts/.hidden", "x")
    workspace.spec("prompts: prompts\n")
    after = workspace.load().plan
    assert after.templates == packaged() | {"rank": "Choose the edits.\n"}
    assert after.identity != before.identity
    assert describe_changes(before, after) == ["template rank changed"]


def test_the_packaged_templates_are_fine_as_a_folder(workspace):
    for name in NAMES:
        workspace.write(f"prompts/{name}.md", packaged()[name])
    plain = workspace.load().plan.identity
    workspace.spec("prompts: prompts\n")
    assert workspace.load().plan.identity == plain


def test_an_eval_pins_its_template_from_the_folder(workspace):
    workspace.write("prompts/attempt.md", "Obey: {{skill}}\n")
    workspace.spec("prompts: prompts\n")
    loaded = load_eval_plan(
        workspace.folder / "spec.yaml", environ={}, publish_revision=lambda backend: "r"
    )
    assert loaded.plan.templates == {"attempt": "Obey: {{skill}}\n"}


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("rnak.md", "x", "prompts/rnak.md: is not a known template; did you mean 'rank.md'?"),
        ("rank.txt", "x", "prompts/rank.txt: is not a known template; did you mean 'rank.md'?"),
        ("attempt.md", "No slot.", "prompts/attempt.md: template 'attempt' lacks the slot"),
        ("rank.md", "{{edits}}", "prompts/rank.md: template 'rank' has the slot '{{edits}}'"),
        ("rank.md", " \n", "prompts/rank.md: template 'rank' is empty"),
        ("rank.md", b"\xff", "prompts/rank.md:1: byte 0xff is not UTF-8"),
    ],
)
def test_what_cannot_be_used_as_a_template_is_named(workspace, faults, file, content, message):
    workspace.write(f"prompts/{file}", content)
    workspace.spec("prompts: prompts\n")
    assert faults()[0].startswith(message)


def test_a_missing_or_empty_folder_is_named_with_its_line(workspace, faults):
    workspace.spec("prompts: gone\n")
    assert faults()[0].startswith("spec.yaml:4: prompts: 'gone' does not exist; name a folder")
    workspace.spec("prompts: SKILL.md\n")
    assert faults()[0].startswith("spec.yaml:4: prompts: 'SKILL.md' is not a folder; name a")
    (workspace.folder / "empty").mkdir()
    workspace.spec("prompts: empty\n")
    assert faults()[0].startswith("spec.yaml:4: prompts: 'empty' holds no template; add files")

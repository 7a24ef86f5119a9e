"""Long and strange prompts get a reply of the form asked for, in time that grows with them."""

from __future__ import annotations

import json

import pytest

from skillopt.simulator.options import SimulatorOptions

SIZE = 40_000
#: Each would take minutes, or end in an error, if it were read carelessly.
HOSTILE = {
    "rules": "".join(f'- Always include "A{n}".\n' for n in range(SIZE // 26)),
    "bans": '- Never write "B".\n' * (SIZE // 20),
    "criteria": "".join(f'- the answer contains "B{n}"\n' for n in range(SIZE // 32)),
    "one sentence": "start the " * (SIZE // 10) + '"x"',
    "quotations": 'Remember: add "x". ' * (SIZE // 19),
    "private characters": "\ue000\uf8ff Add \ue123. " * (SIZE // 12),
    "digits": f"at most {'1' * SIZE} characters",
    "failed digits": f"(failed {'1' * SIZE}",
    "brackets": "[" * SIZE,
    "open rows": '[{"op":\n' * (SIZE // 8),
    "fences": "".join("~" * (4 + n % 40) + "\n" for n in range(SIZE // 24)),
    "front matter": "---\na: b\n" * (SIZE // 9),
    "kept": "<!-- KEEP 1 -->\n" * (SIZE // 16),
    "limits": "max_chars=abc min_chars=\u00b2\n" * (SIZE // 26),
    "blank": " \n" * (SIZE // 2),
    "rows": json.dumps([{"op": 1, "content": None, "instruction": [], "new_skill": {}}] * 400),
}
#: For each stage: the titles under which its prompt shows something, and a key of its reply.
STAGES = {
    "reflect_failure": (("Current skill", "Failing criteria", "Earlier steps"), "patch"),
    "reflect_success": (("Current skill", "Attempts"), "patch"),
    "reflect_contrast": (("Current skill", "Contrasts"), "patch"),
    "merge": (("Current skill", "Proposed edits", "Proposed suggestions", "Proposed rewrites"),
              "reasoning"),
    "rank": (("Edits", "Suggestions", "Edits wanted"), "selected_indices"),
    "learning_rate": (("Merged edits", "Batch"), "learning_rate"),
    "rewrite": (("Current skill", "Suggestions"), "new_skill"),
    "compress": (("Current skill", "Limit"), "new_skill"),
    "consolidate": (("Notes",), "appendix_notes"),
    "slow_update": (("Current skill", "Existing guidance", "Comparison"), "slow_update_content"),
    "meta_skill": (("Current skill", "Existing memory", "Comparison"), "meta_skill_content"),
}  # fmt: skip


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_every_stage_is_answered_in_its_form(ask, prompts, stage, name):
    titles, key = STAGES[stage]
    said = "\n\n".join(f"## {title}\n\n{HOSTILE[name]}" for title in titles)
    modes = ["patch"]
    if stage.startswith(("reflect", "merge")):
        modes += ["rewrite_from_suggestions", "full_rewrite_minibatch"]
    for mode in modes:
        reply = ask(said, prompts(stage, mode, notes=True))
        assert key in json.loads(reply.text)


@pytest.mark.parametrize("name", HOSTILE)
def test_the_target_answers_whatever_it_is_told(ask, prompts, name):
    system = prompts("attempt", skill=HOSTILE[name], memory=HOSTILE[name])

    assert ask("Write a note on tides.", system, SimulatorOptions(sample_noise=1.0)).text
    assert ask(HOSTILE[name], "Do the task.").text

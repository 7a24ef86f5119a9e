from __future__ import annotations

import json

import pytest
from epoch_values import Crowded, crowded, of_epochs, two_epochs
from loop_values import of_type
from scripted_models import sections, stage_of, unfenced
from scripted_run import ScriptedRun

from skillopt.domain.events import Compared, Gated, MetaLearned
from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import decode_messages


def prompts(run: ScriptedRun) -> list[dict[str, str]]:
    return [
        sections(decode_messages(job.blobs[0])[1].content)
        for job in run.performed.values()
        if isinstance(job.spec, OptimizeSpec) and job.spec.stage == "meta_skill"
    ]


class Student(Crowded):
    """Learns what it is told; `later` is what it answers once it remembers something."""

    def __init__(self, *first: str, later: str | None = None) -> None:
        super().__init__()
        self.first, self.later = first, later

    def optimize(self, messages) -> str:
        if stage_of(messages) != "meta_skill":
            return super().optimize(messages)
        known = sections(messages[1].content)["Existing memory"] != "(none)"
        if known and self.later is not None:
            return self.later
        return self.first[min(len(messages) // 2, len(self.first)) - 1]


GOOD = json.dumps({"reasoning": "r", "meta_skill_content": "Small edits are accepted more often."})


def test_the_memory_is_kept_in_the_state_and_never_reaches_the_target():
    run = ScriptedRun(two_epochs(), models=Student(GOOD)).finish()
    assert run.state.meta_skill == "Small edits are accepted more often."
    assert not [text for text in run.state.texts.values() if "Small edits" in text.skill]


def test_the_next_epoch_builds_on_the_memory():
    later = json.dumps({"meta_skill_content": "Smaller still."})
    run = ScriptedRun(of_epochs(two_epochs(), 3), models=Student(GOOD, later=later)).finish()
    first, second = prompts(run)
    assert first["Existing memory"] == "(none)"
    assert unfenced(second["Existing memory"]) == "Small edits are accepted more often."
    assert run.state.meta_skill == "Smaller still."


BAD = {
    "prose": "I have learnt a lot.",
    "empty": "",
    "null": '{"meta_skill_content": null}',
    "blank": '{"meta_skill_content": ""}',
    "list": '{"meta_skill_content": ["a"]}',
    "endless": json.dumps({"meta_skill_content": "lesson " * 150_000}),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_an_unusable_reply_keeps_the_last_good_memory(bad):
    run = ScriptedRun(of_epochs(two_epochs(), 3), models=Student(GOOD, later=bad)).finish()
    first, second = of_type(run, MetaLearned)
    assert (first.status, second.status) == ("ok", "kept")
    assert second.problem
    assert run.state.meta_skill == second.content == first.content


def test_a_first_memory_that_cannot_be_read_leaves_none():
    run = ScriptedRun(two_epochs(), models=Student("no")).finish()
    [event] = of_type(run, MetaLearned)
    assert (event.status, event.content, run.state.meta_skill) == ("kept", "", "")


def test_a_repaired_memory_is_used():
    run = ScriptedRun(two_epochs(), models=Student("no", GOOD)).finish()
    [event] = of_type(run, MetaLearned)
    assert (event.status, event.content) == ("repaired", "Small edits are accepted more often.")
    assert event.problem


def test_the_memory_is_learnt_from_the_documents_before_the_slow_update():
    run = crowded().finish()
    [compared], [prompt] = of_type(run, Compared), prompts(run)
    gated = [event for event in of_type(run, Gated) if event.source == "slow_update"]
    assert run.state.current == gated[0].skill != compared.current
    assert unfenced(prompt["Current skill"]) == run.state.texts[compared.current].skill.rstrip()
    assert "SLOW_UPDATE" not in prompt["Current skill"]


def test_without_a_pair_the_memory_is_kept_and_nothing_is_asked():
    plan = two_epochs(learning_rate=0, longitudinal_pair_policy="changed")
    run = ScriptedRun(plan).finish()
    [event] = of_type(run, MetaLearned)
    assert event.status == "kept"
    assert "did not change" in event.problem
    assert prompts(run) == []

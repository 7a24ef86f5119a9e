"""The real loop with its packaged prompts, driven by the simulated model: every way of changing a
document makes it better, because the prompts show what that takes.
"""

from __future__ import annotations

import pytest
from simulated_run import PARTS, SKILL, simulated_run, stages_asked, val_scores

from skillopt.domain.events import Gated, MetaLearned, Noted, Proposed, Reflected
from skillopt.domain.item import Check
from skillopt.domain.skill import SkillDocument
from skillopt.simulator.options import SimulatorOptions

MODES = ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
#: Keeps a run from having all it could have, which would end it.
IMPOSSIBLE = Check(op="regex", arg="(?!)")
RULES = '# Notes\n\n- Always include the exact text "Verdict:".\n- Add a section "Key Risks".\n'


def events(run, kind):
    return [event for event in run.events if isinstance(event, kind)]


def best(run):
    return run.state.texts[run.state.best]


@pytest.mark.parametrize("mode", MODES)
def test_each_way_of_updating_learns_every_part_and_keeps_what_is_protected(mode):
    run = simulated_run({"optimizer": {"skill_update_mode": mode}})
    before, after = (SkillDocument.parse(text) for text in (SKILL, best(run).skill))

    first, last = val_scores(run)
    assert first < 0.5
    assert last == 1.0
    assert "merge" in stages_asked(run)
    assert (after.front_matter, after.regions) == (before.front_matter, before.regions)
    assert not any(group.problem for one in events(run, Reflected) for group in one.groups)


@pytest.mark.parametrize("mode", MODES)
def test_vague_harmful_and_malformed_replies_slow_it_down_and_do_not_stop_it(mode):
    options = SimulatorOptions(
        seed=3, vague_rate=0.2, harmful_rate=0.2, malformed_rate=0.2, garbage_rate=0.02
    )
    run = simulated_run(
        {"train": {"num_epochs": 4, "batch_size": 4}, "optimizer": {"skill_update_mode": mode}},
        options,
    )
    first, last = val_scores(run)

    assert run.state.status == "finished"
    assert first < last


@pytest.mark.parametrize("mode", MODES[:2])
def test_the_optimizer_chooses_how_much_to_change(mode):
    run = simulated_run({"optimizer": {"skill_update_mode": mode, "lr_control_mode": "autonomous"}})

    assert "learning_rate" in stages_asked(run)
    assert val_scores(run)[1] == 1.0


def test_more_edits_than_are_wanted_are_ranked():
    run = simulated_run(
        {
            "train": {"num_epochs": 3, "batch_size": 8},
            "optimizer": {"learning_rate": 1},
        }
    )

    assert "rank" in stages_asked(run)
    assert val_scores(run)[0] < val_scores(run)[1]


def test_a_memory_is_learnt_beside_a_skill_that_stays():
    skill = SKILL.replace('- Never write "Verdict:".\n', "")
    run = simulated_run({"evolve": "memory"}, skill=skill, memory="# Lessons\n")

    assert val_scores(run)[1] == 1.0
    assert best(run).skill == skill
    assert "Verdict:" in best(run).memory


@pytest.mark.parametrize("mode", MODES[1:])
def test_a_memory_can_be_rewritten(mode):
    skill = SKILL.replace('- Never write "Verdict:".\n', "")
    run = simulated_run(
        {"evolve": "memory", "optimizer": {"skill_update_mode": mode}},
        skill=skill,
        memory="# Lessons\n",
    )

    assert val_scores(run)[1] == 1.0
    assert best(run).skill == skill


def test_both_documents_are_learnt():
    run = simulated_run({"evolve": "both"}, memory="# Lessons\n")

    assert val_scores(run)[1] == 1.0
    assert "Confidence:" in best(run).memory
    assert "Key Risks" in best(run).skill
    assert "Key Risks" not in best(run).memory


def test_reminders_help_a_target_that_knows_the_rules():
    options = SimulatorOptions(sample_noise=0.6, seed=5)
    parts = (PARTS[0], PARTS[1])
    run = simulated_run(
        {
            "optimizer": {
                "use_skill_aware_reflection": True,
                "skill_aware_consolidate_threshold": 1,
            },
            "evaluation": {"samples": 4},
            "gradient": {"minibatch_size": 4, "contrastive": False, "failure_only": True},
        },
        options,
        parts=parts,
        skill=RULES,
    )
    first, last = val_scores(run)

    assert first < last
    assert "consolidate" in stages_asked(run)
    assert any(noted.notes for noted in events(run, Noted))
    assert "Remember:" in (SkillDocument.parse(best(run).skill).appendix or "")


def test_tasks_that_pass_and_fail_by_chance_teach_by_contrast():
    run = simulated_run(
        {
            "train": {"num_epochs": 2, "batch_size": 4, "samples": 4},
            "evaluation": {"samples": 4},
        },
        SimulatorOptions(sample_noise=0.5, seed=2),
        parts=(PARTS[0], PARTS[1]),
        skill=RULES,
    )
    first, last = val_scores(run)

    assert "reflect_contrast" in stages_asked(run)
    assert first < last
    assert "Remember:" in best(run).skill


@pytest.mark.parametrize("mode", MODES)
def test_a_document_that_grew_too_long_is_compressed(mode):
    padding = "".join(f"Some remark number {n} that says nothing at all.\n\n" for n in range(12))
    skill = SKILL.replace("# Notes\n", f"# Notes\n\n{padding}")
    run = simulated_run(
        {"optimizer": {"skill_update_mode": mode, "max_skill_tokens": len(skill) // 4}},
        skill=skill,
    )

    assert "compress" in stages_asked(run)
    assert val_scores(run)[1] == 1.0
    assert len(best(run).skill) <= len(skill)
    assert any(proposed.how == "compressed" for proposed in events(run, Proposed))


def test_guidance_alone_makes_a_document_better():
    run = simulated_run(
        {
            "train": {"num_epochs": 3, "batch_size": 4},
            "optimizer": {
                "learning_rate": 0,
                "use_slow_update": True,
                "use_meta_skill": True,
                "slow_update_samples": 8,
            },
        },
        parts=(*PARTS[1:3], IMPOSSIBLE),
    )
    first, last = val_scores(run)

    assert last < 1.0
    assert {"slow_update", "meta_skill"} <= stages_asked(run)
    assert first < last
    assert "Key Risks" in (SkillDocument.parse(best(run).skill).slow_update or "")
    assert [gated.source for gated in events(run, Gated) if gated.verdict == "accept"] == [
        "slow_update"
    ]
    assert events(run, MetaLearned)[-1].content.startswith("- Take over literal texts")

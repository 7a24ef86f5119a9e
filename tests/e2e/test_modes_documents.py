"""What a run may write into: the body, the appendix, a memory, both, a whole skill folder.

What holds of every run is asserted by `TrainedRun.check`, see test_modes.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from notes_benchmark import (
    FRONT_MATTER,
    FROZEN,
    HALVES,
    KNOWN_RULES,
    NO_EPOCH_ENDS,
    SKILL,
    STEPS_OF_4,
    skill_with,
    tasks,
)
from trained_run import in_prompt, prepare, train

from skillopt.domain.events import Noted, Proposed, Reflected, Selected, Skipped, StepStarted
from skillopt.domain.skill import SkillDocument
from skillopt.loop.templates import packaged

pytestmark = pytest.mark.xdist_group("e2e-modes-documents")


def test_lapses_become_reminders_that_are_condensed(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 2},
            "optimizer": {
                "learning_rate": 2,
                "lr_scheduler": "constant",
                "use_skill_aware_reflection": True,
                "skill_aware_consolidate_threshold": 2,
                **NO_EPOCH_ENDS,
            },
            "evaluation": {"samples": 2},
        },
        skill=skill_with(*KNOWN_RULES, 'Always include the exact text "Verdict:".'),
        simulator={"seed": 1, "sample_noise": 0.5},
    )
    noted = run.all(Noted)
    assert len(noted) == len(run.all(StepStarted))
    assert {event.status for event in noted} == {"kept", "consolidated"}
    assert all(len(event.notes) <= 2 for event in noted)
    assert len(run.asked("consolidate")) == sum(e.status == "consolidated" for e in noted)
    document = SkillDocument.parse(run.best().skill)
    kept = next(event for event in reversed(noted) if event.step == run.summary()["best"]["step"])
    assert document.appendix is not None
    assert all(note in document.appendix for note in kept.notes)
    assert "Remember" not in document.body
    prompts = [in_prompt(record) for record in run.asked("reflect_failure")]
    assert all("appendix_notes" in prompt for prompt in prompts)


def test_a_memory_alone_learns_with_prompts_of_our_own_up_to_a_target_score(
    tmp_path: Path,
) -> None:
    memory = "# What we know\n\nThe council reads on paper.\n"
    templates = packaged()
    ours = {
        "prompts/attempt.md": f"You write for the harbour town.\n\n{templates['attempt']}",
        "prompts/reflect_failure.md": f"{templates['reflect_failure']}\nMind the harbour town.\n",
    }
    run = train(
        tmp_path,
        {
            "evolve": "memory",
            "memory": "MEMORY.md",
            "prompts": "prompts",
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 4},
            "optimizer": {"learning_rate": 2, "lr_scheduler": "constant"},
            "evaluation": {"gate_metric": "mixed", "gate_mixed_weight": 0.3},
            "stop": {"target_score": 0.6},
        },
        skill=skill_with("Be kind."),
        val=tasks("val", HALVES),
        files={"MEMORY.md": memory, **ours},
    )
    skill = skill_with("Be kind.")
    assert {documents.skill for documents in run.state().texts.values()} == {skill}
    assert (run.run_dir() / "best_skill.md").read_text() == skill
    grown = (run.run_dir() / "best_memory.md").read_text()
    assert grown == run.best().memory
    assert grown.startswith(memory)
    assert len(grown) > len(memory)
    assert len(list((run.run_dir() / "memories").iterdir())) == len(run.state().texts)
    assert any(grown.strip() in in_prompt(record) for record in run.attempts())
    # The score that decides lies between the hard and the soft one, as the weight says.
    last = run.gates()[-1]
    measured = last.measurement
    assert last.metric == "mixed"
    assert last.candidate_score == pytest.approx(0.7 * measured.hard + 0.3 * measured.soft)
    assert last.candidate_score >= 0.6
    assert "target_score" in run.summary()["reason"]
    assert len(run.all(StepStarted)) == 3, "one step of four was left"
    assert all("You write for the harbour town." in in_prompt(one) for one in run.attempts())
    asked = run.asked("reflect_failure")
    assert asked
    assert all("Mind the harbour town." in in_prompt(one) for one in asked)


def test_skill_and_memory_learn_from_contrasts_between_samples(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "evolve": "both",
            "train": {**STEPS_OF_4, "samples": 3},
            "gradient": {"minibatch_size": 4},
            "optimizer": {"learning_rate": 4, "lr_scheduler": "constant", **NO_EPOCH_ENDS},
            "evaluation": {"samples": 2},
        },
        skill=skill_with(*KNOWN_RULES, 'Always include the exact text "Verdict:".'),
        simulator={"seed": 3, "sample_noise": 0.4},
    )
    contrasts = [
        (event, group)
        for event in run.all(Reflected)
        for group in event.groups
        if group.kind == "contrast"
    ]
    assert contrasts
    for event, group in contrasts:
        scores = [event.batch.items[item].hard for item in group.items]
        assert all(score is not None and 0 < score < 1 for score in scores), "by chance"
    shown = [in_prompt(record) for record in run.asked("reflect_contrast")]
    assert all("Passed:" in prompt and "Failed:" in prompt for prompt in shown)
    assert {record.sample for record in run.attempts() if record.split == "train"} == {0, 1, 2}
    changed = {change.document for event in run.all(Selected) for change in event.edits}
    assert changed == {"skill", "memory"}
    best = run.best()
    assert best.memory, "it began empty"
    assert 'headed "Key Risks"' in best.skill
    assert "Confidence:" in best.memory
    rows = [row for row in run.history() if row["action"] == "accept_new_best"]
    assert rows[-1]["candidate_length"] == len(best.skill) + len(best.memory)


def test_a_skill_folder_is_kept_short_and_takes_over_no_training_text(tmp_path: Path) -> None:
    remarks = "Notes have been written here for many years. They are read in the morning. " * 6
    skill = SKILL.replace("Lead with the answer.", f"Lead with the answer. {remarks}")
    said = "An editor says: keep the answer to at most 400 characters, always."
    names = ("verdict", "risks", "confidence", "source", "owner", "deadline", "owner", "short")
    run = prepare(
        tmp_path,
        {
            "skill": "notes",
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 4, "copy_guard": "block"},
            "optimizer": {
                "learning_rate": 4,
                "lr_scheduler": "constant",
                "max_skill_tokens": 140,
                "use_meta_skill": False,
            },
        },
        train=tasks("train", names, train_7={"context": said}),
        files={"notes/SKILL.md": skill, "notes/references/style.md": "# Style\n\nPlain.\n"},
    )
    script, picture = tmp_path / "notes/scripts/count.sh", tmp_path / "notes/assets/seal.bin"
    for path, content in ((script, b"#!/bin/sh\nwc -w\n"), (picture, bytes(range(256)))):
        path.parent.mkdir()
        path.write_bytes(content)
    script.chmod(0o755)
    assert run.run() == 0, run.err()
    run.check()
    # Rules were written down, remarks went, and what is protected stayed.
    best = run.best().skill
    assert [e.how for e in run.all(Proposed) if e.source == "step"] == ["compressed"] * 2
    assert len(best) <= 140 * 4 < len(skill)
    assert "many years" not in best
    assert best.startswith(FRONT_MATTER)
    assert FROZEN in best
    assert len(run.asked("compress")) == 2
    # The rule that repeats a training task was blocked, in steps and in the guidance.
    blocked = [c for event in run.all(Reflected) for g in event.groups for c in g.blocked]
    assert blocked
    assert all(change.copied_from == ("train_7",) for change in blocked)
    assert "400 characters" not in best
    assert [e.reason for e in run.all(Skipped) if e.source == "slow_update"] == ["copied"]
    # The folder is written back whole.
    written = run.run_dir() / "best_skill"
    assert (written / "SKILL.md").read_text() == best
    given = {p.relative_to(tmp_path / "notes") for p in (tmp_path / "notes").rglob("*")}
    assert {p.relative_to(written) for p in written.rglob("*")} == given
    for path in (script, picture, tmp_path / "notes/references/style.md"):
        copy = written / path.relative_to(tmp_path / "notes")
        assert copy.read_bytes() == path.read_bytes()
        assert bool(copy.stat().st_mode & 0o100) == (path == script)
    assert (tmp_path / "notes/SKILL.md").read_text() == skill, "the given one is untouched"

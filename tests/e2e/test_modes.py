"""Every mode of the loop, trained by the real command: what is particular to it is in the log.

What holds of every run (`TrainedRun.check`): it finishes, its best document is no worse on val,
nothing is left running, and its events are those of the loop without queue, workers or server.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from notes_benchmark import FRONT_MATTER, FROZEN, SKILL, skill_with, tasks
from trained_run import in_prompt, prepare, train

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.skill import SkillDocument
from skillopt.loop.templates import packaged

pytestmark = pytest.mark.xdist_group("e2e-modes")

NO_EPOCH_ENDS = {"use_slow_update": False, "use_meta_skill": False}
STEPS_OF_4 = {"num_epochs": 2, "batch_size": 4, "seed": 3}
#: Of two checks each, so that soft scores are between 0 and 1.
HALVES = (
    *("verdict+owner", "risks+confidence", "source+owner", "deadline+verdict"),
    *("confidence+source", "risks+deadline", "owner", "untaught"),
)
KNOWN_RULES = tuple(f'Always include the exact text "{one}:".' for one in ("Source", "Owner"))


def budgets(run: Any) -> list[int | None]:
    return [event.edit_budget for event in run.all(StepStarted)]


def test_patches_on_a_linear_schedule_with_gated_guidance_and_a_meta_skill(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "train": {"num_epochs": 3, "batch_size": 8, "seed": 3},
            "gradient": {"minibatch_size": 4},
            "optimizer": {"learning_rate": 3, "min_learning_rate": 1, "lr_scheduler": "linear"},
        },
    )
    assert budgets(run) == [2, 2, 1]
    assert [len(event.edits) for event in run.all(Selected)][:2] == [2, 2]
    assert {event.policy for event in run.all(Compared)} == {"mixed"}
    [guided] = run.guidance()
    document = SkillDocument.parse(run.best().skill)
    assert run.state().best == guided.skill, "the gate found the guidance better"
    guidance = (document.slow_update or "").split("\n")
    rules = [line for line in guidance if line.startswith("- Always include")]
    assert rules
    assert not any(rule in document.body for rule in rules)
    assert run.summary()["best"]["source"] == "slow_update"
    # What editing taught is in the prompts of later epochs, and never in the target's.
    [first, last] = run.all(MetaLearned)
    lesson = first.content.splitlines()[-1]
    assert (first.epoch, last.epoch) == (2, 3)
    told = {record.step: in_prompt(record) for record in run.asked("reflect_success")}
    assert lesson in told[3]
    assert lesson not in told[2]
    assert not any(lesson in in_prompt(record) for record in run.attempts())


def test_rewrites_from_suggestions_with_an_autonomous_budget_and_forced_guidance(
    tmp_path: Path,
) -> None:
    run = train(
        tmp_path,
        {
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 2},
            "optimizer": {
                "learning_rate": 4,
                "min_learning_rate": 1,
                "lr_scheduler": "cosine",
                "lr_control_mode": "autonomous",
                "skill_update_mode": "rewrite_from_suggestions",
                "longitudinal_pair_policy": "unchanged",
                "slow_update_gate_with_selection": False,
                "use_meta_skill": False,
            },
        },
        skill=skill_with(*KNOWN_RULES),
        simulator={"vague_rate": 0.3, "harmful_rate": 0.2},
        such_that=lambda end: (
            end.best != end.plan.initial_key
            and any(gated.forced and gated.verdict == "reject" for gated in end.gates)
            and any(len(step.selected.edits) < len(step.merged.edits) for step in end.steps)
            and len(end.epoch_ends[2].compared.pairs) < 8
        ),
    )
    assert budgets(run) == [4, 2, 1, 1]
    decided = [event.edit_budget for event in run.all(BudgetDecided)]
    offered = [len(event.edits) for event in run.all(Merged)]
    assert [len(event.edits) for event in run.all(Selected)] == decided
    assert any(few < many for few, many in zip(decided, offered, strict=True))
    assert {event.status for event in run.all(BudgetDecided)} == {"ok"}
    assert len(run.asked("learning_rate")) == sum(many > 0 for many in offered)
    assert all(isinstance(c, Suggestion) for event in run.all(Selected) for c in event.edits)
    rewritten = [event for event in run.all(Proposed) if event.source == "step"]
    assert {event.how for event in rewritten} == {"rewrite"}
    assert all(event.text.startswith(FRONT_MATTER) for event in rewritten)
    assert all(FROZEN in event.text for event in rewritten)
    [compared] = run.all(Compared)
    assert {pair.change for pair in compared.pairs} <= {"persistent_fail", "stable_success"}
    assert len(compared.pairs) < len(compared.sampled) == 8
    # Guidance that the gate rejects is kept all the same, but never as the best document.
    [gated] = run.gates("slow_update")
    assert (gated.verdict, gated.forced, gated.adopted) == ("reject", True, True)
    assert run.state().current == gated.skill != run.state().best
    assert run.summary()["epoch_ends"]["forced"] == 1


def test_whole_rewrites_without_a_limit_from_failures_of_accumulated_batches(
    tmp_path: Path,
) -> None:
    run = train(
        tmp_path,
        {
            "train": {"num_epochs": 2, "batch_size": 2, "accumulation": 2, "seed": 3},
            "gradient": {"minibatch_size": 2, "failure_only": True},
            "optimizer": {
                "lr_control_mode": "none",
                "skill_update_mode": "full_rewrite_minibatch",
                "longitudinal_pair_policy": "changed",
                "slow_update_samples": 2,
                "use_meta_skill": False,
            },
        },
        simulator={"harmful_rate": 0.3},
        such_that=lambda end: (
            end.gates[-1].source == "slow_update" and len(end.epoch_ends[2].compared.sampled) == 8
        ),
    )
    assert budgets(run) == [None] * 4
    assert [len(event.items) for event in run.all(StepStarted)] == [4] * 4
    assert {g.kind for event in run.all(Reflected) for g in event.groups} == {"failure"}
    chosen = [change for event in run.all(Selected) for change in event.edits]
    assert chosen
    assert all(isinstance(change, Rewrite) for change in chosen)
    assert run.best().skill.startswith(FRONT_MATTER)
    assert FROZEN in run.best().skill
    # Too few of the two tasks drawn had changed, so all eight were compared.
    [compared] = run.all(Compared)
    assert (compared.policy, len(compared.sampled)) == ("changed", 8)
    assert {pair.change for pair in compared.pairs} <= {"improved", "regressed"}
    [gated] = run.gates("slow_update")
    assert not gated.forced
    assert run.all(MetaLearned) == []


def test_significance_on_soft_scores_of_several_samples(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 4},
            "optimizer": {"learning_rate": 4, "lr_scheduler": "constant", **NO_EPOCH_ENDS},
            "evaluation": {"significance": 0.2, "samples": 2, "gate_metric": "soft"},
        },
        val=tasks("val", HALVES),
        simulator={"sample_noise": 0.2},
        such_that=lambda end: [g.verdict for g in end.gates][:2] == ["accept", "underpowered"],
    )
    gates = run.gates()
    assert all(gated.p_value is not None and gated.level is not None for gated in gates)
    assert sum(gated.level or 0 for gated in gates) <= 0.2 + 1e-9
    assert gates[0].p_value <= gates[0].level < gates[1].p_value
    assert gates[1].candidate_score > gates[1].current_score, "it looked better, and is not kept"
    assert {gated.metric for gated in gates} == {"soft"}
    soft = {score.soft for gated in gates for score in gated.measurement.items.values()}
    assert soft & {0.25, 0.5, 0.75}, "means of two samples of two checks"
    counted = {record.sample for record in run.attempts() if record.split == "val"}
    assert counted == {0, 1}
    assert run.summary()["underpowered"] == sum(g.verdict == "underpowered" for g in gates)


def test_without_a_gate_every_candidate_is_kept_and_measured(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "train": STEPS_OF_4,
            "gradient": {"minibatch_size": 4},
            "optimizer": {"learning_rate": 1, "lr_scheduler": "constant", **NO_EPOCH_ENDS},
            "evaluation": {"use_gate": False},
        },
        skill=skill_with(KNOWN_RULES[0]),
        simulator={"harmful_rate": 0.4},
        such_that=lambda end: end.best not in (end.plan.initial_key, end.current),
    )
    gates, state = run.gates(), run.state()
    assert budgets(run) == [1] * 4
    assert {gated.verdict for gated in gates} == {"accept", "reject"}
    assert all(gated.forced and gated.adopted and not gated.early for gated in gates)
    assert all(len(gated.measurement.items) == 6 for gated in gates)
    assert [step.started.skill for step in state.steps[1:]] == [g.skill for g in gates[:-1]]
    assert gates[-1].verdict == "reject"
    assert state.current == gates[-1].skill != state.best
    assert [row["action"] for row in run.history()].count("force_accept") == run.summary()["forced"]


def test_a_gate_that_protects_tasks_rejects_early_and_patience_ends_the_run(
    tmp_path: Path,
) -> None:
    names = ("verdict", "risks", "confidence", "source", "owner", "verdict", "untaught")
    run = train(
        tmp_path,
        {
            "train": {"num_epochs": 3, "batch_size": 2, "seed": 3},
            "optimizer": {"learning_rate": 1, "lr_scheduler": "constant", **NO_EPOCH_ENDS},
            "evaluation": {"no_regression": ["tag:kept"]},
            "stop": {"patience": 3},
        },
        *("--concurrency", "1"),
        skill=skill_with("Be kind."),
        train=tasks("train", ("risks", "verdict", "source", "verdict", "owner", "verdict")),
        val=tasks("val", (*names, "no verdict"), val_7={"tags": ["kept"]}),
        simulator={"latency_s": 0.03},
    )
    gates = run.gates()
    # The rule that most tasks ask for is never accepted: one task must not get worse by it.
    protected = [gated for gated in gates if gated.regressed == ("val_7",)]
    assert {gated.verdict for gated in protected} == {"reject"}
    assert all("protected tasks got worse: val_7" in gated.reason for gated in protected)
    assert protected[0].candidate_score > protected[0].current_score
    assert len(protected[0].measurement.items) == 8
    # Once it is known which task that is, it is looked at first.
    assert [gated for gated in gates if gated.early] == protected[1:]
    assert all(len(gated.measurement.items) <= 5 for gated in protected[1:])
    assert {gated.verdict for gated in gates if gated not in protected} == {"accept"}
    assert "last 3 steps" in run.summary()["reason"]
    # Without early decisions all is decided alike, and takes more calls.
    whole = run.rehearse("evaluation.early_decision=false")
    assert whole.state.texts == run.state().texts
    assert [gated.verdict for gated in whole.state.gates] == [gated.verdict for gated in gates]
    rollouts = [job for job in whole.performed.values() if job.spec.kind == "rollout"]
    assert run.summary()["calls"]["target"] < len(rollouts)


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

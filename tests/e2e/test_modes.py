"""Every mode of the loop, trained by the real command: what is particular to it is in the log.

What holds of every run (`TrainedRun.check`): it finishes, its best document is no worse on val,
nothing is left running, and its events are those of the loop without queue, workers or server.
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
    STEPS_OF_4,
    skill_with,
    tasks,
)
from trained_run import TrainedRun, in_prompt, train

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Merged,
    MetaLearned,
    Proposed,
    Reflected,
    Selected,
    StepStarted,
)
from skillopt.domain.skill import SkillDocument

pytestmark = pytest.mark.xdist_group("e2e-modes")


def budgets(run: TrainedRun) -> list[int | None]:
    return [event.edit_budget for event in run.all(StepStarted)]


def test_patches_on_a_linear_schedule_with_gated_guidance_and_a_meta_skill(tmp_path: Path) -> None:
    run = train(
        tmp_path,
        {
            "train": {"num_epochs": 3, "batch_size": 8, "seed": 1},
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


@pytest.mark.slow
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


@pytest.mark.slow
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

from __future__ import annotations

import json

import pytest
from recorded_runs import run_of
from scripted_run import Models, ScriptedRun, make_plan

from producer.run_folder import RunFolder
from producer.scores import score_of
from producer.summary import exit_code, summarize
from skillopt.domain.events import Measured
from skillopt.domain.fingerprint import text_hash
from skillopt.domain.item import Splits
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.steering_events import LeftOut, Paused
from skillopt.state.ports import Amount, Spend

SPEND = Spend(
    calls={"target": 20, "optimizer": 5},
    input_tokens=900,
    output_tokens=100,
    micro_usd=1_500_000,
    unconfirmed=Amount(calls=2),
    executions=26,
    repaid_calls=1,
)


def summary_of(run: ScriptedRun, **changes):
    arguments = {
        "skill": "SKILL.md",
        "spend": SPEND,
        "cache_hits": 3,
        "seconds": 1.5,
        "run_dir": "runs/one",
        "priced": True,
    }
    return summarize(run.state, **{**arguments, **changes})


def test_a_finished_run_reports_every_figure():
    run = ScriptedRun().finish()
    summary = summary_of(run)
    assert (summary.run, summary.state, summary.mode) == (run.plan.run_id, "finished", "train")
    assert summary.spec_hash == run.plan.identity
    assert summary.steps == summary.accepted + summary.rejected + summary.skipped
    assert summary.steps == len(run.state.steps)
    assert summary.accepted >= 1
    assert summary.best.hash == run.state.best
    assert summary.best.val.hard > summary.initial.val.hard == 0.0
    assert summary.best.test.n == 2
    assert summary.final.step >= summary.best.step >= 1
    assert summary.calls.model_dump() == {"target": 20, "optimizer": 5, "judge": 0, "total": 25}
    assert summary.tokens.model_dump() == {"input": 900, "output": 100, "estimated": 0}
    assert (summary.executions, summary.repaid_calls, summary.unconfirmed_calls) == (26, 1, 2)
    assert summary.cost_usd == 1.5
    assert summary.reason == f"all {len(run.state.steps)} steps are done"
    assert summary.warnings == ()


def test_json_has_the_documented_fields():
    keys = set(json.loads(summary_of(ScriptedRun()).model_dump_json()))
    documented = {
        "run", "state", "spec_hash", "skill", "initial", "best", "final", "steps", "accepted",
        "rejected", "skipped", "calls", "cache_hits", "executions", "repaid_calls", "tokens",
        "cost_usd", "seconds", "run_dir",
    }  # fmt: skip
    assert documented <= keys


def test_the_documents_have_the_documented_fields():
    summary = json.loads(summary_of(ScriptedRun().finish()).model_dump_json())
    assert {"hash", "val", "test"} <= set(summary["initial"])
    for name in ("best", "final"):
        assert {"hash", "step", "val", "test"} <= set(summary[name])
        assert {"hard", "soft", "n", "coverage"} <= set(summary[name]["val"])


def test_what_was_not_measured_is_null_not_zero():
    summary = json.loads(summary_of(ScriptedRun(), priced=False).model_dump_json())
    assert summary["initial"]["val"] is None
    assert summary["best"]["test"] is None
    assert summary["cost_usd"] is None
    assert summary["new_calls"] is None
    assert summary["reason"] == ""
    assert summary["final"]["step"] == 0


def test_a_run_without_test_tasks_has_no_test_scores():
    plan = make_plan()
    plan = plan.model_copy(update={"splits": Splits(train=plan.splits.train, val=plan.splits.val)})
    summary = summary_of(ScriptedRun(plan).finish())
    assert summary.state == "finished"
    assert summary.best.val is not None
    assert summary.best.test is None


def test_the_interval_surrounds_the_score_and_stays_within_bounds():
    items = {str(i): ItemScore(status="scored", hard=1.0, soft=0.5) for i in range(10)}
    score = score_of(Measurement(skill="s", split="val", items=items), make_plan())
    assert score.interval_method == "wilson"
    low, high = score.interval
    assert 0.6 < low < score.hard == 1.0
    assert high == pytest.approx(1.0)


def test_a_measurement_without_any_score_has_neither_mean_nor_interval():
    items = {"a": ItemScore(status="invalid"), "b": ItemScore(status="missing")}
    score = score_of(Measurement(skill="s", split="val", items=items), make_plan())
    assert (score.hard, score.soft, score.interval, score.n) == (None, None, None, 0)
    assert score.interval_method is None


def test_tasks_left_out_are_named_in_a_warning():
    run = ScriptedRun(filtered="val-gamma").finish()
    summary = summary_of(run, warnings=["the worker is old"])
    assert summary.warnings == (
        "the worker is old",
        "1 of 4 val tasks cannot be scored and are left out: val-gamma",
    )
    assert summary.initial.val.n == 3
    assert summary.initial.val.coverage == 1.0


@pytest.mark.parametrize(
    ("why", "code", "words"),
    [
        ("budget", 3, "the budget is used up"),
        ("coverage", 4, "too many results are missing"),
        ("infrastructure", 4, "calls cannot be made"),
        ("requested", 130, "it was asked to pause"),
    ],
)
def test_a_paused_run_says_why_and_exits_accordingly(why, code, words):
    run = ScriptedRun()
    run.record(Paused(why=why, detail="40 of 40 calls"))
    assert exit_code(run.state) == code
    assert summary_of(run).reason == f"{words}: 40 of 40 calls"
    assert summary_of(run).state == "paused"


def test_exit_codes_of_a_finished_and_of_an_interrupted_run():
    assert exit_code(ScriptedRun().finish().state) == 0
    assert exit_code(ScriptedRun().state) == 130


def test_an_evaluation_run_reports_its_split():
    run = ScriptedRun(make_plan(mode="eval", eval_split="train")).finish()
    summary = summary_of(run)
    assert (summary.mode, summary.steps, summary.initial.val) == ("eval", 0, None)
    assert (summary.evaluated.split, summary.evaluated.score.n) == ("train", 8)
    assert summary.reason == "the document was measured on train"


def test_the_stored_summary_leaves_out_what_one_command_did(tmp_path):
    run = ScriptedRun()
    folder = RunFolder(tmp_path / "run")
    folder.create(run.plan, {})
    assert folder.read_summary() is None
    folder.write_summary(summary_of(run, new_calls=12))
    assert folder.read_summary() == summary_of(run)


def test_a_saturated_run_says_so():
    run = ScriptedRun()
    items = {one.id: ItemScore(status="scored", hard=1.0, soft=1.0) for one in run.plan.splits.val}
    skill = run.plan.initial_key
    run.record(Measured(measurement=Measurement(skill=skill, split="val", items=items)))
    assert summary_of(run.finish()).reason.startswith("the validation score is at its maximum")


def test_analyses_that_gave_nothing_usable_are_counted_in_a_warning():
    run = ScriptedRun(garbles=True, repairs=False).finish()
    (warning,) = summary_of(run).warnings
    assert warning.endswith("analyses gave no usable reply and were dropped")


# --- the modes ----------------------------------------------------------------------------------


def with_tags(run: ScriptedRun, **tags: tuple[str, ...]) -> ScriptedRun:
    splits = run.plan.splits
    val = tuple(one.model_copy(update={"tags": tags.get(one.id[4:], ())}) for one in splits.val)
    plan = run.plan.model_copy(update={"splits": splits.model_copy(update={"val": val})})
    return ScriptedRun(plan, models=run.models)


def test_scores_are_also_given_by_tag():
    run = with_tags(ScriptedRun(), alpha=("greek", "first"), beta=("greek",), unknown=("odd",))
    summary = summary_of(run.finish())
    by_tag = {tag: score.model_dump() for tag, score in summary.best.val.by_tag.items()}
    assert by_tag == {
        "first": {"hard": 1.0, "soft": 1.0, "n": 1},
        "greek": {"hard": 1.0, "soft": 1.0, "n": 2},
        "odd": {"hard": 0.0, "soft": 0.0, "n": 1},
    }
    assert summary.initial.val.by_tag["greek"].hard == 0.0
    assert summary.best.test.by_tag == {}


def test_a_tag_whose_tasks_have_no_score_has_no_mean():
    run = with_tags(ScriptedRun(models=Models(filtered="val-beta")), beta=("only",))
    tag = summary_of(run.finish()).initial.val.by_tag["only"]
    assert (tag.hard, tag.soft, tag.n) == (None, None, 0)


def test_with_a_memory_each_document_has_a_hash_of_its_own():
    run = run_of("memory").finish()
    summary = summary_of(run)
    documents = run.state.texts[run.state.best]
    assert summary.best.hash == run.state.best
    assert summary.best.skill_hash == text_hash(documents.skill) != summary.best.hash
    assert summary.best.memory_hash == text_hash(documents.memory)
    assert summary.initial.memory_hash == text_hash(run.plan.memory)
    plain = summary_of(ScriptedRun())
    assert (plain.initial.memory_hash, plain.initial.skill_hash) == (None, plain.initial.hash)


def test_slow_updates_are_counted_apart_from_steps():
    run = run_of("slow update").finish()
    summary = summary_of(run)
    assert summary.steps == len(run.state.steps) == 6
    ends = summary.epoch_ends
    assert (ends.accepted, ends.rejected, ends.skipped, ends.meta_learned) == (1, 1, 0, 2)
    assert (summary.best.step, summary.best.source) == (4, "slow_update")
    assert (summary.final.step, summary.final.source) == (4, "slow_update")


def test_what_was_kept_by_force_is_counted_by_its_verdict_and_once_more():
    run = run_of("forced").finish()
    summary = summary_of(run)
    rejected = [step for step in run.state.steps if step.gated and step.gated.verdict == "reject"]
    assert (summary.rejected, summary.forced) == (len(rejected), len(rejected))
    assert rejected
    assert summary.steps == summary.accepted + summary.rejected + summary.skipped
    assert summary.final.hash == run.state.current
    assert summary.final.hash != summary.best.hash
    assert summary.final.step > summary.best.step


def test_underpowered_gates_are_steps_that_were_neither_accepted_nor_rejected():
    run = run_of("several samples").finish()
    summary = summary_of(run)
    assert summary.underpowered > 0
    assert summary.steps == len(run.state.steps)
    assert summary.accepted + summary.rejected + summary.underpowered + summary.skipped == 4


def test_several_samples_say_how_their_interval_was_found():
    score = summary_of(run_of("several samples").finish()).initial.val
    assert score.interval_method == "wilson_effective_n"
    assert score.interval[0] <= score.hard <= score.interval[1]


def test_tasks_that_a_person_left_out_are_named_with_the_reason():
    run = ScriptedRun().until(Measured)
    run.record(LeftOut(items={"val-unknown": "nobody knows it"}))
    summary = summary_of(run.finish())
    assert "tasks left out of every comparison by a person: val-unknown (nobody knows it)" in (
        summary.warnings
    )
    assert summary.best.val.coverage < 1.0


def test_kept_changes_that_repeat_tasks_are_warned_of():
    run = ScriptedRun().finish()
    step = run.state.steps[0]
    assert step.gated.adopted
    copied = step.proposed.model_copy(update={"copied_from": ("train-0",)})
    run.state = type(run.state)(
        **{**vars(run.state), "steps": (type(step)(**{**vars(step), "proposed": copied}),)}
    )
    warning = "changes that were kept repeat the text of train tasks: train-0"
    assert warning in summary_of(run).warnings


def test_an_aa_run_reports_how_far_apart_its_arms_are():
    plan = make_plan(mode="aa", arms=3, skill="Always say alpha.\nAlways say beta.\n")
    run = ScriptedRun(plan, models=Models(spread=0.6)).finish()
    summary = summary_of(run)
    assert summary.reason == "the document was measured 3 times on val"
    noise = summary.noise
    assert [arm.hard for arm in noise.arms] == list(noise.means)
    assert noise.spread == pytest.approx(max(noise.means) - min(noise.means))
    assert 0 < noise.flipped <= 1
    assert (noise.items, noise.comparisons) == (4, 6)
    assert noise.accepted == sum(a > b for a in noise.means for b in noise.means)
    assert (summary.evaluated, summary.steps) == (None, 0)


def test_one_arm_alone_shows_no_noise():
    plan = make_plan(mode="aa", arms=2)
    noise = summary_of(ScriptedRun(plan).until(Measured)).noise
    assert (len(noise.arms), noise.spread, noise.accepted) == (1, None, None)
    assert summary_of(ScriptedRun()).noise is None


def test_a_run_of_one_step_is_told_as_one():
    settings = {"train": {"num_epochs": 1, "batch_size": 8}, "stop": {"patience": 1}}
    none = {"learning_rate": 0, "min_learning_rate": 0}
    run = ScriptedRun(make_plan(settings={"train": settings["train"], "optimizer": none}))
    assert summary_of(run.finish()).reason == "the only step is done"
    stopping = ScriptedRun(make_plan(settings={"stop": settings["stop"], "optimizer": none}))
    assert summary_of(stopping.finish()).reason == "the last step brought no improvement"

from __future__ import annotations

import json

import pytest
from scripted_run import ScriptedRun, make_plan

from producer.run_folder import RunFolder
from producer.summary import exit_code, score_of, summarize
from skillopt.domain.events import ItemScore, Measured, Measurement, Paused
from skillopt.domain.item import Splits
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
    assert summary.tokens.model_dump() == {"input": 900, "output": 100}
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
    score = score_of(Measurement(skill="s", split="val", items=items))
    low, high = score.interval
    assert 0.6 < low < score.hard == 1.0
    assert high == pytest.approx(1.0)


def test_a_measurement_without_any_score_has_neither_mean_nor_interval():
    items = {"a": ItemScore(status="invalid"), "b": ItemScore(status="missing")}
    score = score_of(Measurement(skill="s", split="val", items=items))
    assert (score.hard, score.soft, score.interval, score.n) == (None, None, None, 0)


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
        ("requested", 4, "it was asked to pause"),
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

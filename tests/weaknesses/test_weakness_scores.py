"""Scores: whose they are, and what has none."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from fleet_double import Bench, Trouble, decisions, undisturbed
from recorded_runs import MODES, run_of
from scripted_run import SKILL, TEMPLATES, Models, ScriptedRun, item, make_plan
from weakness_parts import (
    Scripted,
    append,
    assert_earned,
    drive_until,
    executed,
    finish,
    of_type,
    patch,
    resumed,
    words_plan,
)

from producer.run_folder import RunFolder
from producer.summary import summarize
from skillopt.domain.backend import BackendUse
from skillopt.domain.events import Gated, Measured, StepStarted
from skillopt.domain.item import Splits
from skillopt.domain.results import Body, JudgementBody
from skillopt.errors import InputError


def test_w01_scores_are_never_attributed_to_another_skill():
    """The defect: after a crash in a gate, another candidate got the scores of the one before."""
    first = ScriptedRun(order_seed=3).until(Gated)
    begun = [type(event) for event in first.events].index(StepStarted) + 1
    kept = {
        job: line for job, line in first.ledger.items() if first.performed[job].role == "target"
    }
    useless = Scripted(replies={"reflect": patch(append("Say nothing of use."))})
    second = resumed(
        first.plan, first.events[:begun], store=first.store, ledger=kept, models=useless
    )
    second.until(Gated)
    good, bad = of_type(first, Gated)[0], of_type(second, Gated)[0]
    assert (good.verdict, bad.verdict) == ("accept", "reject")
    assert bad.candidate_score == 0.0
    assert_earned(second, second.state, bad.measurement)


@pytest.mark.parametrize("mode", MODES)
def test_w01_every_score_of_a_run_is_the_one_its_document_earns(mode):
    """The defect: what a document was said to score was what another one had scored."""
    run = finish(run_of(mode))
    measured = [event.measurement for event in run.events if isinstance(event, Gated | Measured)]
    assert len(measured) > 2
    for measurement in measured:
        assert_earned(run, run.state, measurement)


CHANGED = {
    "skill": {"skill": f"{SKILL}Be kind.\n"},
    "memory": {"memory": "# Memory\n"},
    "template": {"templates": {**TEMPLATES, "attempt": "Obey: {{skill}}"}},
    "model": {
        "backends": {
            "target": BackendUse(role="target", backend="sim", fingerprint="another model"),
            "optimizer": BackendUse(role="optimizer", backend="sim", fingerprint="f1"),
        }
    },
}


@pytest.mark.parametrize("what", CHANGED)
def test_w01_what_can_change_a_score_is_part_of_what_it_is_stored_under(what):
    """The defect: a stored result was found again by the task's id alone."""
    bench = Bench()
    bench.run()
    bench.run(make_plan(**CHANGED[what]))
    assert len(executed(bench, "baseline")) == 2 * 4


def test_w01_a_new_version_of_a_judge_judges_anew_without_new_attempts():
    """The defect: a stored score did not say which evaluator had given it."""
    bench = Bench()
    bench.fleet.judges_here = False
    bench.run()
    bench.run(make_plan(judge_versions={"exact": 2, "rule": 1}))
    judged = executed(bench, "baseline", "/ judge")
    # Replies that are the same are one job however many tasks they answer.
    assert len(executed(bench, "baseline")) - len(judged) == 4
    assert len(judged) == 2 * len(set(judged))


def test_w02_a_longer_run_tests_the_document_it_found_itself(tmp_path):
    """The defect: a run with more epochs reported the test score of the shorter run's document."""
    words = ("alpha", "beta", "gamma", "delta")
    short, long = (
        words_plan(
            words,
            words,
            words,
            settings={
                "train": {"num_epochs": epochs, "batch_size": 4},
                "optimizer": {"learning_rate": 1, "min_learning_rate": 1},
            },
        )
        for epochs in (1, 3)
    )
    bench = Bench()
    before, after = bench.run(short), bench.run(long)
    assert before.finished and after.finished
    assert [state.measured[(state.best, "test")].hard for state in (before, after)] == [0.25, 0.75]
    for state in (before, after):
        assert_earned(ScriptedRun(state.plan), state, state.measured[(state.best, "test")])
    folder = RunFolder(tmp_path / "run")
    folder.create(short, {})
    with pytest.raises(InputError, match="holds run"):
        folder.create(long, {})


def test_w03_a_score_of_zero_is_a_score():
    """The defect: a baseline of 0.0 counted as none and was measured again at each start."""
    bench, plan = Bench(), make_plan()
    run = bench.submit(plan).run
    drive_until(bench, run, Measured, owner="c1")
    drive_until(bench, run, StepStarted, owner="c2")
    bench.drive(run, "c3")
    state = bench.known(plan)
    measured = [event for event in bench.events(run) if isinstance(event, Measured)]
    assert [one.measurement.hard for one in measured if one.measurement.split == "val"] == [0.0]
    assert len(executed(bench, "baseline")) == 4
    assert state.gates[0].current_score == 0.0
    assert state.gates[0].pairs == 4
    summary = summarize(
        state,
        skill="SKILL.md",
        spend=bench.state.budgets.spend(run),
        cache_hits=0,
        seconds=1.0,
        run_dir="runs/x",
        priced=True,
    )
    assert summary.initial.val is not None
    assert (summary.initial.val.hard, summary.initial.val.n) == (0.0, 4)


def test_w03_a_candidate_at_zero_is_compared_and_never_best():
    """The defect: with a best score of 0.0 any later number counted as an improvement."""
    useless = Scripted(replies={"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))})
    run = finish(ScriptedRun(models=useless))
    gates = of_type(run, Gated)
    assert len(gates) > 1
    assert {(one.candidate_score, one.current_score, one.verdict) for one in gates} == {
        (0.0, 0.0, "reject")
    }
    assert run.state.best == run.plan.initial_key


@dataclass
class Halves(Models):
    """A judge that gives half of the soft score for nothing."""

    def judge(self, spec, blobs) -> Body:
        body = super().judge(spec, blobs)
        assert isinstance(body, JudgementBody)
        return body.model_copy(update={"soft": 0.5 + body.hard / 2})


def test_w05_only_what_was_measured_is_kept_as_a_measurement():
    """The defect: the gate's own mixture was stored as a hard score, with 0 as the soft one."""
    mixed = {"evaluation": {"gate_metric": "mixed", "gate_mixed_weight": 0.25}}
    run = finish(ScriptedRun(make_plan(settings=mixed), models=Halves()))
    assert of_type(run, Gated)
    for measurement in run.state.measured.values():
        assert_earned(run, run.state, measurement)
        for score in measurement.scored:
            assert score.soft == 0.5 + score.hard / 2
    for gated in of_type(run, Gated):
        hard = gated.measurement.hard
        assert gated.candidate_score == pytest.approx(0.75 * hard + 0.25 * (0.5 + hard / 2))


def test_w05_a_part_of_a_measurement_is_not_kept_as_one():
    """The defect: a document that was never measured as a whole had a score in the store."""
    run = finish(run_of("early"))
    early = [gated for gated in of_type(run, Gated) if gated.early]
    assert early, "the run must have been decided early once"
    assert not {(gated.skill, "val") for gated in early} & run.state.measured.keys()
    for (_, split), measurement in run.state.measured.items():
        assert measurement.items.keys() == {one.id for one in run.plan.splits.of(split)}


LOST = ("baseline / val-alpha / 0", "baseline / val-beta / 0", "baseline / val-gamma / 0")


def test_w08_an_outage_is_no_score_and_is_tried_again():
    """The defect: three refused calls were three wrong answers, stored for good."""
    bench, plan = Bench(), make_plan()
    bench.fleet.mishap = lambda job, lane: "rate_limited: slow down" if job.label in LOST else None
    state = bench.run(plan)
    assert state.paused and state.paused.why == "coverage"
    assert "3 of 4 items have no score (val-alpha, val-beta, val-gamma)" in state.paused.detail
    assert not state.measured
    stored = bench.state.results.get(list(bench.fleet.labels))
    assert {bench.fleet.labels[job] for job in stored}.isdisjoint(LOST)
    bench.fleet.mishap = Trouble("", 0)
    assert bench.run(plan).finished
    assert decisions(bench.events(plan.run_id)) == undisturbed()


def test_w08_a_task_without_a_result_is_in_no_mean():
    """The defect: a task that timed out pulled the mean down like a wrong answer."""
    bench = Bench()
    plan = make_plan(
        skill=f"{SKILL}Always say alpha.\n", settings={"evaluation": {"min_coverage": 0.5}}
    )
    bench.fleet.mishap = lambda job, lane: "timeout: late" if job.label in LOST[1:] else None
    run = bench.submit(plan).run
    drive_until(bench, run, Measured)
    [measured] = [event for event in bench.events(run) if isinstance(event, Measured)]
    assert (measured.measurement.hard, measured.measurement.n) == (0.5, 2)
    assert measured.measurement.items["val-beta"].hard is None


def test_w08_results_that_were_not_asked_for_are_not_counted():
    """The defect: stored rows of other tasks came back with those that were asked for."""
    bench = Bench()
    whole = bench.run().plan
    fewer = Splits(train=whole.splits.train, val=whole.splits.val[:2], test=(item("t", "alpha"),))
    state = bench.run(make_plan(splits=fewer))
    for (_, split), measurement in state.measured.items():
        assert list(measurement.items) == [one.id for one in fewer.of(split)]
    assert {gated.pairs for gated in state.gates} == {2}

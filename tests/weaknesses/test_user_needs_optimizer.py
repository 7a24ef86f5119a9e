"""What users of optimizers asked for, as far as the loop answers it: the gate, A1 and A4 to A7."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from config_workspace import Workspace, record
from recorded_runs import MODES, run_of
from scripted_run import SKILL, Models, ScriptedRun, item, make_plan
from weakness_parts import (
    Scripted,
    append,
    finish,
    labelled,
    of_type,
    patch,
    prompts,
    states,
    summary_of,
    words_plan,
)

from producer.blame import blame
from producer.folder.history import history_rows
from producer.planning import plan_ahead
from producer.scores import noise_floor, score_of
from skillopt.domain.events import Gated, Proposed, Skipped
from skillopt.domain.item import Splits
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.results import Body, JudgementBody
from skillopt.errors import StateCorrupt
from skillopt.loop.fold import apply

# --- A1: per-task differences, protected tasks, and who brought what ------------------------------

SWAP = patch(
    {
        "op": "replace",
        "target": "Always say alpha.",
        "content": "Always say beta.\nAlways say gamma.",
    }
)


def swap_run(*protected: str) -> ScriptedRun:
    """A run whose candidate gains two val tasks and loses one."""
    val = tuple(
        one.model_copy(update={"tags": ("core",) if one.id == "val-alpha" else ()})
        for one in (item(f"val-{word}", word) for word in ("alpha", "beta", "gamma", "unknown"))
    )
    splits = Splits(train=(item("train-beta", "beta"),), val=val, test=())
    plan = make_plan(
        splits=splits,
        skill=f"{SKILL}Always say alpha.\n",
        settings={
            "train": {"num_epochs": 1, "batch_size": 1},
            "evaluation": {"no_regression": protected},
        },
    )
    return finish(ScriptedRun(plan, models=Scripted(replies={"reflect": SWAP})))


def test_a1_a_verdict_names_every_task_that_changed():
    run = swap_run()
    [gated] = of_type(run, Gated)
    assert gated.verdict == "accept"
    assert (set(gated.improved), gated.regressed) == ({"val-beta", "val-gamma"}, ("val-alpha",))
    [row] = history_rows(run.state)
    assert (row.improved, row.regressed) == (gated.improved, gated.regressed)


@pytest.mark.parametrize("protected", ["val-alpha", "tag:core", "all"])
def test_a1_a_protected_task_is_never_given_for_others(protected):
    run = swap_run(protected)
    [gated] = of_type(run, Gated)
    assert gated.verdict == "reject"
    assert "protected tasks got worse: val-alpha" in gated.reason
    assert gated.candidate_score > gated.current_score
    assert run.state.best == run.plan.initial_key


def test_a1_each_line_is_traced_to_its_step_and_tasks():
    run = swap_run()
    traced = {line.text: line for line in blame(run.state, run.state.best)}
    brought = traced["Always say beta."]
    assert (brought.step, brought.tasks, brought.gain) == (1, ("train-beta",), 0.25)
    assert traced["Be brief. Café."].step == 0


# --- A4: one way to `best` ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a4_every_best_document_has_an_accepting_gate(mode):
    run = finish(run_of(mode))
    before = run.plan.initial_key
    for event, state in zip(run.events, states(run), strict=True):
        if state.best != before:
            assert isinstance(event, Gated)
            assert (event.verdict, event.skill, event.early) == ("accept", state.best, False)
            assert len(event.measurement.items) == len(run.plan.splits.val)
        before = state.best


def test_a4_the_log_itself_cannot_make_a_rejected_document_the_best():
    run = ScriptedRun().until(Proposed)
    run.advance()
    run.until(Gated)
    [gated] = of_type(run, Gated)
    before = states(run)[-2]
    forged = gated.model_copy(update={"verdict": "reject", "forced": True, "new_best": True})
    assert apply(before, forged).best == run.plan.initial_key
    with pytest.raises(StateCorrupt, match="without a whole measurement"):
        apply(before, gated.model_copy(update={"early": True}))


# --- A5: repeats and soft scores ------------------------------------------------------------------


def test_a5_every_document_is_measured_with_the_same_number_of_samples():
    run = finish(run_of("several samples"))
    gates = of_type(run, Gated)
    assert gates
    for stage in ("baseline / val-", "gate / val-", "test / test-"):
        samples: dict[tuple[str, str], set[int]] = {}
        for job in labelled(run, stage):
            if isinstance(job.spec, RolloutSpec):
                key = (job.spec.skill, job.spec.prompt)
                samples.setdefault(key, set()).add(job.spec.sample)
        assert samples, stage
        assert set(map(frozenset, samples.values())) == {frozenset({0, 1, 2})}
    thirds = {score.hard for gated in gates for score in gated.measurement.scored}
    assert thirds & {1 / 3, 2 / 3}, "a score is the mean over the samples"
    assert score_of(gates[0].measurement, run.plan).interval is not None


@dataclass
class Strict(Models):
    """A judge that never gives a pass, but half a point for the word."""

    def judge(self, spec, blobs) -> Body:
        body = super().judge(spec, blobs)
        assert isinstance(body, JudgementBody)
        return body.model_copy(update={"hard": 0.0, "soft": body.hard / 2})


@pytest.mark.parametrize(("metric", "accepted"), [("hard", False), ("soft", True), ("mixed", True)])
def test_a5_partial_progress_counts_where_it_is_asked_for(metric, accepted):
    plan = make_plan(settings={"evaluation": {"gate_metric": metric}})
    run = finish(ScriptedRun(plan, models=Strict()))
    assert (run.state.best != run.plan.initial_key) is accepted


# --- A6: a gate that knows what it can see --------------------------------------------------------


def test_a6_a_gain_on_too_few_tasks_is_called_underpowered():
    settings = {
        "train": {"num_epochs": 1, "batch_size": 2},
        "evaluation": {"significance": 0.05},
    }
    plan = words_plan(["alpha", "beta"], ["alpha", "beta", "x", "y"], settings=settings)
    run = finish(ScriptedRun(plan))
    [gated] = of_type(run, Gated)
    assert (gated.verdict, gated.adopted) == ("underpowered", False)
    assert "at least 5 tasks must differ" in gated.reason
    assert summary_of(run).underpowered == 1


def test_a6_what_a_gate_can_see_is_told_before_the_run(workspace: Workspace):
    def smallest(tasks: int) -> float:
        workspace.write_records("tasks.jsonl", [record(n) for n in range(tasks)])
        loaded = workspace.load(overrides=["evaluation.samples=2"])
        effect = plan_ahead(loaded.plan, loaded.backends, baseline=0.4).gate.smallest_effect
        assert effect is not None
        return effect

    assert 0 < smallest(240) < smallest(24) <= 0.6
    workspace.write_records("tasks.jsonl", [record(n) for n in range(12)])
    warnings = workspace.load(overrides=["evaluation.significance=0.05"]).warnings
    assert any("nothing can be accepted" in warning for warning in warnings)


def test_a6_equal_documents_show_the_noise_floor():
    """The same document several times, each time with samples of its own."""

    def floor(spread: float) -> Any:
        plan = make_plan(mode="aa", arms=4, skill=f"{SKILL}Always say alpha.\n")
        run = finish(ScriptedRun(plan, models=Models(spread=spread)))
        rollouts = [job.spec for job in run.performed.values()]
        samples = [spec.sample for spec in rollouts if isinstance(spec, RolloutSpec)]
        assert sorted(samples) == sorted(list(range(4)) * 4)
        return noise_floor(run.state)

    quiet, noisy = floor(0.0), floor(0.9)
    assert (quiet.spread, quiet.flipped, quiet.accepted) == (0.0, 0.0, 0)
    assert noisy.flipped > 0.5
    assert noisy.accepted > 0, "the means alone would have accepted an equal document"
    assert noisy.comparisons == 12


# --- A7: what was rejected is remembered ----------------------------------------------------------


def test_a7_a_rejected_candidate_is_not_bought_again_in_any_epoch():
    same = Scripted(replies={"reflect": patch(append("Try this."))})
    plan = make_plan(settings={"train": {"num_epochs": 3, "batch_size": 4}})
    run = finish(ScriptedRun(plan, models=same))
    assert len(of_type(run, Gated)) == 1
    skipped = of_type(run, Skipped)
    assert [event.reason for event in skipped] == ["already_rejected"] * 5
    assert {job.label.split(" / ")[0] for job in labelled(run, "/ gate")} == {"step 1"}
    later = [prompt for prompt in prompts(run, "reflect") if "## Earlier steps" in prompt]
    assert any("REJECTED" in prompt and "Try this." in prompt for prompt in later)


def test_a7_what_was_rejected_from_the_same_document_is_told_in_later_epochs():
    tries = Scripted(replies={"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))})
    plan = make_plan(settings={"train": {"num_epochs": 2, "batch_size": 8}})
    run = finish(ScriptedRun(plan, models=tries))
    first = run.state.steps[0]
    assert first.selected is not None
    assert first.selected.edits[0].content in prompts(run, "reflect")[-1]

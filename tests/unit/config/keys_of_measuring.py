"""What `evaluation`, `stop` and the single keys of the loop change."""

from __future__ import annotations

import pytest
from key_runs import LoopRow, asked, first, samples, seen, splits, stages
from scripted_run import SKILL, ScriptedRun
from setting_models import Fickle, Forgetful, Verbose

from skillopt.domain.events import Finished, Gated, Measured, StepStarted
from skillopt.domain.jobs import JudgeSpec, OptimizeStage
from skillopt.domain.steering_events import GaveUp, Paused
from skillopt.loop.decide import decide

#: The document knows one word, and learning others pushes it out.
KNOWS_ALPHA = {"skill": f"{SKILL}\nAlways say alpha.\n"}
PREFERENCE = "Short rules, please."


def metrics(hard: ScriptedRun, soft: ScriptedRun, mixed: ScriptedRun) -> None:
    for run, name, weight in ((hard, "hard", 0.0), (soft, "soft", 1.0), (mixed, "mixed", 0.5)):
        for gate in seen(run, Gated):
            assert gate.metric == name
            _assert_weighed(gate, weight)
    verdicts = [[gate.verdict for gate in seen(run, Gated)] for run in (hard, soft, mixed)]
    assert verdicts[0] == ["accept", "accept"]
    assert verdicts[1] == ["reject"] * 4, "each word that is said lowers it"
    assert verdicts[2] == ["reject", "accept", "accept", "reject"], "it weighs both"


def weights(none: ScriptedRun, all_of_it: ScriptedRun) -> None:
    for run, verdict, weight in ((none, "accept", 0.0), (all_of_it, "reject", 1.0)):
        assert first(run, Gated).verdict == verdict
        _assert_weighed(first(run, Gated), weight)


def _assert_weighed(gate: Gated, weight: float) -> None:
    hard, soft = gate.measurement.hard, gate.measurement.soft
    assert hard is not None
    assert soft is not None
    assert gate.candidate_score == pytest.approx((1 - weight) * hard + weight * soft)


def samples_of_val(one: ScriptedRun, four: ScriptedRun) -> None:
    for run, expected in ((one, {0}), (four, {0, 1, 2, 3})):
        for stage in ("baseline", "step 1 / gate", "initial test"):
            assert samples(run, stage) == expected
        assert samples(run, "step 1 / rollout") == {0}
    means = {score.hard for score in first(four, Measured).measurement.items.values()}
    assert means & {0.25, 0.5, 0.75}, "a task's score is the mean of its samples"


def gate_or_not(gated: ScriptedRun, ungated: ScriptedRun) -> None:
    for run, forced in ((gated, False), (ungated, True)):
        rejected = [gate for gate in seen(run, Gated) if gate.verdict == "reject"]
        assert rejected
        assert all(gate.forced == forced for gate in seen(run, Gated))
        assert all(gate.adopted == forced for gate in rejected)
        assert (run.state.current == rejected[-1].skill) == forced
        assert run.state.best not in {gate.skill for gate in rejected}


def strictness(means_only: ScriptedRun, strict: ScriptedRun) -> None:
    lenient, tested = first(means_only, Gated), first(strict, Gated)
    assert lenient.candidate_score == tested.candidate_score, "the same candidate"
    assert (lenient.verdict, lenient.p_value, lenient.level) == ("accept", None, None)
    assert tested.verdict == "underpowered"
    assert tested.level == pytest.approx(0.05 / 4), "four gates share what may go wrong"
    assert tested.p_value is not None
    assert tested.p_value > 0.05
    assert strict.state.best == strict.plan.initial_key


def protection(none: ScriptedRun, alpha: ScriptedRun) -> None:
    free, held = first(none, Gated), first(alpha, Gated)
    assert free.regressed == held.regressed == ("val-alpha",)
    assert (free.verdict, held.verdict) == ("accept", "reject")
    assert "protected tasks got worse: val-alpha" in held.reason


def one_by_one(run: ScriptedRun) -> ScriptedRun:
    """Drive a run that has one worker: each time the most important job is done."""
    while True:
        decision = decide(run.state, run, run.factory)
        for event in decision.events:
            run.record(event)
        for job in decision.wanted[:1]:
            run.perform(job)
        if not decision.events and not decision.wanted:
            return run


def early_end(late: ScriptedRun, early: ScriptedRun) -> None:
    gates = [seen(run, Gated) for run in (late, early)]
    assert [gate.verdict for gate in gates[0]] == [gate.verdict for gate in gates[1]]
    assert not any(gate.early for gate in gates[0])
    cut = [gate for gate in gates[1] if gate.early]
    assert cut
    assert all(gate.verdict == "reject" for gate in cut)
    assert all(len(gate.measurement.items) < len(early.plan.splits.val) for gate in cut)
    assert len(early.performed) < len(late.performed), "what cannot change a verdict is not done"


def without_alpha(run: ScriptedRun) -> ScriptedRun:
    """Drive a run in which no answer to one val task can ever be judged."""
    while True:
        decision = decide(run.state, run, run.factory)
        for event in decision.events:
            run.record(event)
        if not decision.events and not decision.wanted:
            return run
        for job in decision.wanted:
            if isinstance(job.spec, JudgeSpec) and "val-alpha" in job.label:
                run.record(GaveUp(jobs={job.id: "timeout"}))
            else:
                run.perform(job)


def coverage(all_of_them: ScriptedRun, half: ScriptedRun) -> None:
    paused = first(all_of_them, Paused)
    assert paused.why == "coverage"
    assert "baseline: 1 of 4 items have no score (val-alpha); min_coverage is 100%" in paused.detail
    assert first(half, Measured).measurement.coverage == 0.75
    assert half.state.finished
    assert half.state.best != half.plan.initial_key


def tests(measured: ScriptedRun, unmeasured: ScriptedRun) -> None:
    found = [[one.measurement for one in seen(run, Measured)] for run in (measured, unmeasured)]
    tested = {one.skill for one in found[0] if one.split == "test"}
    assert tested == {measured.plan.initial_key, measured.state.best}
    assert {one.split for one in found[1]} == {"val"}
    assert not any("test" in job.label for job in unmeasured.performed.values())


def patience(endless: ScriptedRun, two: ScriptedRun) -> None:
    assert (len(endless.state.steps), first(endless, Finished).reason) == (4, "completed")
    assert (len(two.state.steps), first(two, Finished).reason) == (2, "patience")


def target(none: ScriptedRun, half: ScriptedRun) -> None:
    assert (len(none.state.steps), first(none, Finished).reason) == (4, "completed")
    assert first(half, Finished).reason == "target_score"
    scores = [gate.candidate_score or 0 for gate in seen(half, Gated)]
    assert len(seen(half, StepStarted)) == len(scores) < 4
    assert all(score < 0.5 for score in scores[:-1])
    assert scores[-1] >= 0.5


def documents(skill: ScriptedRun, memory: ScriptedRun, both: ScriptedRun) -> None:
    for run, changes in ((skill, (True, False)), (memory, (False, True)), (both, (True, True))):
        texts = run.state.texts.values()
        assert (
            len({text.skill for text in texts}) > 1,
            len({text.memory for text in texts}) > 1,
        ) == changes
    prompts = [asked(run, "reflect_failure")[0] for run in (skill, memory, both)]
    assert [("## Current skill" in p, "## Current memory" in p) for p in prompts] == [
        (True, False),
        (False, True),
        (True, True),
    ]
    assert [("Say which document." in p) for p in prompts] == [False, False, True]


def wishes(none: ScriptedRun, short: ScriptedRun) -> None:
    told: tuple[OptimizeStage, ...] = (
        "reflect_failure",
        "reflect_success",
        "rewrite",
        "slow_update",
        "meta_skill",
    )
    assert stages(short) >= set(told)
    assert not any("What the user prefers" in text for text in asked(none))
    for text in asked(short, *told):
        assert f"## What the user prefers\n\n{PREFERENCE}\n" in text


def shared_results(on: ScriptedRun, refresh: ScriptedRun, off: ScriptedRun) -> None:
    def salts(run: ScriptedRun) -> set[str | None]:
        specs = (job.spec for job in run.performed.values())
        return {spec.salt for spec in specs if not isinstance(spec, JudgeSpec)}

    assert salts(on) == {None}, "any run finds its results"
    assert salts(refresh) == {refresh.plan.run_id}
    assert salts(off) == {off.plan.run_id}
    assert refresh.plan.run_id != off.plan.run_id
    assert [event.type for event in on.events] == [event.type for event in off.events]


ROWS = (
    LoopRow("evaluation.gate_metric", ("hard", "soft", "mixed"), metrics, models=Verbose()),
    LoopRow(
        "evaluation.gate_mixed_weight",
        (0.0, 1.0),
        weights,
        {"evaluation.gate_metric": "mixed"},
        models=Verbose(),
    ),
    LoopRow("evaluation.samples", (1, 4), samples_of_val, models=Fickle()),
    LoopRow("evaluation.use_gate", (True, False), gate_or_not, {"optimizer.learning_rate": 2}),
    LoopRow("evaluation.significance", (None, 0.05), strictness),
    LoopRow(
        "evaluation.no_regression",
        ((), ("val-alpha",)),
        protection,
        {"gradient.minibatch_size": 8, "train.batch_size": 8},
        models=Forgetful(),
        plan={
            **KNOWS_ALPHA,
            "splits": splits(["beta", "gamma"], ["alpha", "beta", "gamma", "unknown"]),
        },
    ),
    LoopRow(
        "evaluation.early_decision",
        (False, True),
        early_end,
        {"optimizer.learning_rate": 2},
        models=Forgetful(),
        drive=one_by_one,
    ),
    LoopRow("evaluation.min_coverage", (1.0, 0.5), coverage, drive=without_alpha),
    LoopRow("evaluation.eval_test", (True, False), tests),
    LoopRow(
        "stop.patience", (None, 2), patience, plan={"splits": splits(val=["unknown", "never"])}
    ),
    LoopRow("stop.target_score", (None, 0.5), target, {"optimizer.learning_rate": 2}),
    LoopRow("evolve", ("skill", "memory", "both"), documents, plan={"memory": "# Memory\n"}),
    LoopRow(
        "preferences",
        ("", PREFERENCE),
        wishes,
        {
            "optimizer.skill_update_mode": "rewrite_from_suggestions",
            "optimizer.use_slow_update": True,
            "optimizer.use_meta_skill": True,
        },
    ),
    LoopRow("cache", ("on", "refresh", "off"), shared_results),
)

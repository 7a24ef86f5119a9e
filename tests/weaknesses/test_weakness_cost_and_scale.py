"""Cost and scale: nothing waits without need, grows without bound or is paid for twice."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from fleet_double import Bench
from recorded_runs import MODES, folder_of, run_of
from scripted_models import sections
from scripted_run import SKILL, Models, ScriptedRun, make_plan
from weakness_parts import (
    Scripted,
    ToolUser,
    append,
    executed,
    finish,
    labelled,
    of_type,
    patch,
    prompts,
    tool_plan,
    words_plan,
)

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.events import Compared, Gated, Reflected, Selected, StepStarted
from skillopt.domain.jobs import RolloutSpec
from skillopt.loop.decide import decide
from skillopt.loop.sample import batch_of, shards_of


def wanted(run: ScriptedRun) -> list[str]:
    return [job.label for job in decide(run.state, run, run.factory).wanted]


def labels_at(run: ScriptedRun, part: str) -> list[str]:
    """Go on until something with this in its label is wanted, and give all that is wanted then."""
    for _ in range(1_000):
        labels = wanted(run)
        if any(part in label for label in labels):
            return labels
        assert run.advance(), f"{part!r} was never wanted"
    raise AssertionError(part)


# --- 25: barriers ---------------------------------------------------------------------------------


def test_w25_analysts_begin_while_other_attempts_are_still_out():
    """The defect: the slowest attempt of a batch kept every analyst waiting."""
    run = ScriptedRun().until(StepStarted)
    batch = batch_of(run.plan, 1)
    first = {one.id for one in shards_of(run.plan, 1, batch)[0]}
    for _ in range(2):  # an attempt, then its judgement
        for job in decide(run.state, run, run.factory).wanted:
            if any(f"/ {name} /" in job.label for name in first):
                run.perform(job)
    labels = wanted(run)
    assert any("/ reflect" in label for label in labels)
    for slow in {one.id for one in batch} - first:
        assert f"step 1 / rollout / {slow} / 0" in labels


def test_w25_both_branches_of_a_merge_are_asked_for_at_once():
    """The defect: successes were merged only after failures had been."""
    plan = words_plan(
        ["alpha", "alpha", "beta", "beta"],
        ["alpha", "beta"],
        skill=f"{SKILL}Always say alpha.\n",
        settings={
            "train": {"num_epochs": 1, "batch_size": 4},
            "gradient": {"minibatch_size": 1},
        },
    )
    each = {"reflect": lambda parts: patch(append(f"Lesson {parts['Attempts']}"))}
    labels = labels_at(ScriptedRun(plan, models=Scripted(replies=each)), "/ merge")
    merges = {label for label in labels if "/ merge" in label}
    assert merges == {"step 1 / merge failure 1", "step 1 / merge success 1"}


def test_w25_both_arms_of_a_comparison_are_rolled_out_together():
    """The defect: the previous document was rolled out first, then the current one."""
    words = [f"word{n}" for n in range(12)]
    settings = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "optimizer": {"learning_rate": 1, "min_learning_rate": 1, "use_slow_update": True},
    }
    labels = labels_at(ScriptedRun(words_plan(words, words, settings=settings)), "/ compare")
    arms = {re.sub(r" / train.*", "", label) for label in labels if "/ compare" in label}
    assert arms == {"epoch 2 / compare previous", "epoch 2 / compare current"}


def test_w25_tests_run_beside_the_training_and_beside_each_other():
    """The defect: three tests followed one another when all else was done."""
    run = ScriptedRun()
    assert [label.split(" / ")[0] for label in wanted(run)] == ["baseline"] * 4 + [
        "initial test"
    ] * 2

    worse = Scripted(replies={"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))})
    plan = words_plan(
        ["alpha", "beta", "gamma"],
        ["alpha", "delta"],
        settings={
            "train": {"num_epochs": 2, "batch_size": 3},
            "evaluation": {"use_gate": False},
        },
    )
    lucky = {"reflect": patch(append("Always say alpha."))}
    forced = ScriptedRun(plan, models=Scripted(replies=lucky)).until(Gated)
    forced.models = worse
    labels_at(forced, "final test")
    tested = {
        job.spec.skill
        for job in decide(forced.state, forced, forced.factory).wanted
        if isinstance(job.spec, RolloutSpec)
    }
    assert tested == {forced.state.best, forced.state.current}
    assert len(tested) == 2


# --- 26: many runs in one process -----------------------------------------------------------------


#: What a step's changes are in the modes that differ in that.
FORMS = {"edits": Edit, "rewrite": Suggestion, "full rewrite": Rewrite, "memory": Edit}


def test_w26_runs_of_every_kind_share_a_process_without_noticing():
    """The defect: settings were globals of the process, so a second run changed the first."""
    together = {mode: run_of(mode) for mode in MODES}
    moving = set(together)
    while moving:
        moving = {mode for mode in moving if together[mode].advance()}
    for mode, run in together.items():
        assert run.events == finish(run_of(mode)).events, mode
    for mode, form in FORMS.items():
        changes = [one for event in of_type(together[mode], Selected) for one in event.edits]
        assert {type(change) for change in changes} == {form}, mode


# --- 28: topping up -------------------------------------------------------------------------------


def test_w28_a_sample_with_too_few_pairs_is_topped_up_at_once():
    """The defect: further tasks were tried one at a time, two attempts each."""
    words = [f"word{n}" for n in range(20)]
    settings = {
        "train": {"num_epochs": 2, "batch_size": 20},
        "gradient": {"minibatch_size": 20},
        "optimizer": {
            "learning_rate": 1,
            "min_learning_rate": 1,
            "use_slow_update": True,
            "slow_update_samples": 3,
            "longitudinal_pair_policy": "changed",
        },
    }
    run = ScriptedRun(words_plan(words, words[:10], settings=settings))
    waves: list[int] = []
    for _ in range(1_000):
        new = [name for name in wanted(run) if "/ compare" in name and "judge" not in name]
        waves += [len(new)] if new else []
        if not run.advance():
            break
    [compared] = of_type(run, Compared)
    assert compared.previous != compared.current
    assert len(compared.sampled) == 20, "the sample must have been too small"
    assert len(waves) <= 2
    assert len(labelled(run, "/ compare")) <= 2 * 2 * 20


# --- 29: bounds -----------------------------------------------------------------------------------


def test_w29_what_earlier_steps_tried_takes_bounded_room():
    """The defect: every rejected edit stood in full in every later prompt."""
    long = {"reflect": lambda parts: patch(append(f"{len(str(parts))} " + "very " * 2_000))}
    settings = {
        "train": {"num_epochs": 1, "batch_size": 1},
        "gradient": {"history_tokens": 200, "minibatch_size": 1},
    }
    run = finish(ScriptedRun(make_plan(settings=settings), models=Scripted(replies=long)))
    told = [sections(prompt).get("Earlier steps", "") for prompt in prompts(run, "reflect")]
    assert len(told) == 8
    assert "earlier steps are left out here" in told[-1]
    assert "Step 7" in told[-1], "the newest is what matters"
    assert max(map(len, told)) < 200 * 4 + 200


class Endless(Models):
    """A target that does not know when to stop."""

    def said(self, told: str, task: str, chance: float) -> str:
        return f"HEAD {super().said(told, task, chance)} " + "so " * 100_000 + "TAIL"


def test_w29_long_answers_are_cut_and_no_group_is_lost():
    """The defect: attempts were shown in full, and a prompt that was too long lost its group."""
    settings = {"gradient": {"minibatch_size": 4, "trajectory_tokens": 100}}
    run = finish(ScriptedRun(make_plan(settings=settings), models=Endless()))
    groups = [group for event in of_type(run, Reflected) for group in event.groups]
    assert groups
    assert {group.status for group in groups} == {"ok"}
    for prompt in prompts(run, "reflect"):
        shown = sections(prompt)["Attempts"]
        n = shown.count("### Attempt")
        assert len(shown) < n * (100 * 4 + 300)
        assert shown.count("HEAD") == shown.count("TAIL") == n, "both ends are kept"


def test_w29_the_comparison_of_two_epochs_takes_bounded_room():
    """The defect: the guidance was asked for with every conversation in full."""
    words = [f"word{n}" for n in range(12)]
    settings = {
        "train": {"num_epochs": 2, "batch_size": 12},
        "gradient": {"trajectory_tokens": 20_000, "minibatch_size": 1},
        "optimizer": {"learning_rate": 1, "use_slow_update": True, "use_meta_skill": True},
    }
    run = finish(ScriptedRun(words_plan(words, words[:6], settings=settings), models=Endless()))
    for stage in ("slow_update", "meta_skill"):
        [prompt] = prompts(run, stage)
        assert len(prompt) < 180_000
        assert "Without details, for want of room" in prompt
        assert all(f"train-{n}-{word}" in prompt for n, word in enumerate(words))


def test_w29_the_log_of_a_run_only_grows_at_its_end(tmp_path: Path):
    """The defect: the whole history was written again with every step."""
    run = run_of("slow update")
    folder = folder_of(run, tmp_path / "run")
    log = tmp_path / "run" / "events.jsonl"
    os.link(log, tmp_path / "the same file")
    before = log.read_bytes()
    while run.advance():
        folder.mirror(run.log())
        after = log.read_bytes()
        assert after.startswith(before)
        before = after
    assert log.samefile(tmp_path / "the same file"), "it is appended to, not replaced"
    assert before.count(b"\n") == len(run.events)


# --- 30: evaluation -------------------------------------------------------------------------------


def gate_bench(*, early: bool) -> tuple[Bench, list[tuple[str, str]]]:
    """A run whose candidates all make the target fall silent."""
    words = [f"word{n}" for n in range(20)]

    class Silenced(Scripted):
        def said(self, told: str, task: str, chance: float) -> str:
            return "" if "Hush" in told else super().said(told, task, chance)

    rules = "".join(f"Always say {word}.\n" for word in words[:19])
    plan = words_plan(
        ["x", "y", "z"],
        words,
        skill=f"{SKILL}{rules}",
        settings={
            "train": {"num_epochs": 1, "batch_size": 1},
            "evaluation": {"early_decision": early},
        },
    )
    bench = Bench()
    hush = {
        "reflect": lambda parts: patch(
            append(f"Hush {re.findall('train-.', parts['Attempts'])[0]}.")
        )
    }
    bench.fleet.models = Silenced(replies=hush)
    state = bench.run(plan)
    assert state.finished
    return bench, [(gated.skill, gated.verdict) for gated in state.gates]


def test_w30_a_hopeless_candidate_is_not_measured_to_the_end():
    """The defect: every candidate was rolled out on all of val, however clear the matter was."""
    (early, verdicts), (whole, others) = gate_bench(early=True), gate_bench(early=False)
    assert verdicts == others
    assert [verdict for _, verdict in verdicts] == ["reject"] * 3
    assert len(executed(whole, "/ gate")) == 3 * 20
    assert len(executed(early, "/ gate")) <= 3 * 6


# --- 31: the skill is shown once ------------------------------------------------------------------

MARK = "Be brief. Café."


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "short"])
def test_w31_a_prompt_shows_the_skill_once(mode):
    """The defect: each attempt brought its system prompt along, and the skill with it."""
    for prompt in prompts(finish(run_of(mode)), "reflect"):
        assert prompt.count(MARK) == 1


def test_w31_that_holds_where_conversations_are_shown():
    """The defect: a conversation was shown from its system prompt on."""
    run = finish(ScriptedRun(tool_plan(), models=ToolUser(said_at_last="found")))
    asked = prompts(run, "reflect")
    assert any(prompt.count("assistant calls search") == 2 for prompt in asked)
    assert {prompt.count(MARK) for prompt in asked} == {1}


# --- 32: identical documents ----------------------------------------------------------------------

USELESS: dict[str, Any] = {"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))}


def test_w32_a_document_is_tested_once_under_all_its_names():
    """The defect: a best document that was the initial one was tested twice, with two results."""
    run = finish(ScriptedRun(models=Scripted(replies=USELESS)))
    assert run.state.best == run.state.current == run.plan.initial_key
    attempts = [
        job
        for job in labelled(run, "test")
        if isinstance(job.spec, RolloutSpec) and "/ test-" in job.label
    ]
    assert len(attempts) == len(run.plan.splits.test)


def test_w32_what_was_measured_before_is_not_paid_for_again():
    """The defect: a new process knew nothing of what the last one had measured."""
    bench, plan = Bench(), make_plan()
    bench.run(plan)
    done = len(bench.fleet.executed)
    again = bench.run(plan.model_copy(update={"replica": 1}))
    assert again.finished
    assert len(bench.fleet.executed) == done
    assert bench.cache_hits(again.run) > 0
    assert not bench.state.budgets.spend(again.run).executions

from __future__ import annotations

from typing import Any

import pytest
from scripted_run import ScriptedRun, make_plan

from skillopt.domain.backend import Backend, CallUse, Params
from skillopt.domain.jobs import JudgeSpec, OptimizeStage
from skillopt.domain.plan import RunPlan
from skillopt.domain.usage import Price, Role
from skillopt.loop.forecast import Cost, Forecast, forecast, steps_within

FREE = Backend(name="sim", kind="simulated", model="sim", price=Price(input=0, output=0))


def foreseen(plan: RunPlan, **backend: Any) -> Forecast:
    return forecast(plan, {"sim": FREE.model_copy(update=backend)})


def calls_made(run: ScriptedRun) -> int:
    return sum(not isinstance(job.spec, JudgeSpec) for job in run.performed.values())


MODES: list[dict[str, Any]] = [
    {},
    {"optimizer": {"skill_update_mode": "rewrite_from_suggestions", "lr_scheduler": "constant"}},
    {"optimizer": {"skill_update_mode": "full_rewrite_minibatch"}},
    {"optimizer": {"lr_control_mode": "autonomous"}},
    {"optimizer": {"lr_control_mode": "none"}},
    {"optimizer": {"use_slow_update": True, "use_meta_skill": True}},
    {"optimizer": {"use_slow_update": True, "longitudinal_pair_policy": "changed",
                   "slow_update_samples": 2}},
    {"optimizer": {"use_skill_aware_reflection": True, "skill_aware_consolidate_threshold": 1}},
    {"gradient": {"failure_only": True, "minibatch_size": 1, "merge_batch_size": 2}},
    {"evaluation": {"samples": 3, "eval_test": False}},
    {"train": {"num_epochs": 2, "batch_size": 3, "samples": 2}},
]  # fmt: skip


@pytest.mark.parametrize("settings", MODES)
def test_no_run_makes_more_calls_than_foreseen(settings):
    plan = make_plan(settings=settings)
    run = ScriptedRun(plan).finish()
    assert calls_made(run) <= foreseen(plan).total.calls


def test_the_baseline_and_each_gate_take_every_val_task_and_sample():
    plan = make_plan(settings={"evaluation": {"samples": 5}})
    assert foreseen(plan).baseline.calls == 4 * 5


def test_contrasts_have_analysts_of_their_own():
    def step_calls(**gradient: Any) -> int:
        settings = {"train": {"batch_size": 4, "samples": 2}, "gradient": {"minibatch_size": 2}}
        settings["gradient"] |= gradient
        return foreseen(make_plan(settings=settings)).step.calls

    # Two shards with one more group each, and three more merges of four groups than of two.
    assert step_calls(contrastive=True, merge_batch_size=2) == (
        step_calls(contrastive=False, merge_batch_size=2) + 2 + 2
    )


def test_tests_are_those_of_three_documents_or_none():
    assert foreseen(make_plan()).tests.calls == 3 * 2
    assert foreseen(make_plan(settings={"evaluation": {"eval_test": False}})).tests == Cost()


def test_money_follows_from_price_and_tokens():
    plan = make_plan()
    amount = foreseen(plan, price=Price(input=2, output=10)).baseline
    expected = amount.input_tokens * 2 + amount.output_tokens * 10
    assert amount.micro_usd == expected > 0


def test_a_backend_without_a_price_is_not_priced():
    assert not foreseen(make_plan(), price=None).priced
    assert foreseen(make_plan()).priced


def test_a_low_output_limit_lowers_the_tokens():
    short = foreseen(make_plan(), params=Params(max_output_tokens=10)).baseline
    assert short.output_tokens == 10 * short.calls


def limited(role: Role, tokens: int, *stages: OptimizeStage) -> Forecast:
    """Foresee a run in which a role, or some of its stages, may write so many tokens."""
    plan = make_plan()
    low = CallUse(fingerprint="f2", params=Params(max_output_tokens=tokens))
    changes = {"stages": dict.fromkeys(stages, low)} if stages else {"params": low.params}
    use = plan.backends[role].model_copy(update=changes)
    return foreseen(plan.model_copy(update={"backends": {**plan.backends, role: use}}))


def test_a_limit_of_a_role_lowers_its_tokens_and_no_others():
    usual, target, optimizer = (
        foreseen(make_plan()), limited("target", 10), limited("optimizer", 10)
    )  # fmt: skip
    assert target.baseline.output_tokens == 10 * target.baseline.calls
    assert optimizer.baseline == usual.baseline
    assert optimizer.step.output_tokens < usual.step.output_tokens


def test_a_limit_of_a_stage_counts_where_every_stage_of_its_sort_has_one():
    usual = foreseen(make_plan()).step.output_tokens
    analysts: tuple[OptimizeStage, ...]
    analysts = ("reflect_failure", "reflect_success", "reflect_contrast")
    assert limited("optimizer", 10, "merge").step.output_tokens == usual
    assert limited("optimizer", 10, *analysts).step.output_tokens < usual


def test_a_budget_buys_steps_after_the_baseline_and_before_the_tests():
    amount = foreseen(make_plan())
    assert steps_within(amount, calls=amount.least.calls) == 1
    assert steps_within(amount, calls=amount.least.calls - 1) == 0
    assert steps_within(amount, calls=amount.baseline.calls + 3 * amount.step.calls) == 3
    assert steps_within(amount, calls=10**9) == amount.steps


def test_the_end_of_an_epoch_is_paid_for_before_the_steps_after_it():
    settings = {
        "train": {"num_epochs": 3, "batch_size": 4},
        "optimizer": {"use_slow_update": True},
    }
    amount = foreseen(make_plan(settings=settings))
    four = amount.baseline.calls + 4 * amount.step.calls
    assert steps_within(amount, calls=four) == 4, "two epochs of two steps each"
    assert steps_within(amount, calls=four + amount.step.calls) == 4
    assert steps_within(amount, calls=four + amount.step.calls + amount.epoch_end.calls) == 5


def test_the_tightest_cap_decides_and_without_one_nothing_is_said():
    amount = foreseen(make_plan())
    assert steps_within(amount, calls=10**9, tokens=1.0, usd=None) == 0
    assert steps_within(amount, calls=None, tokens=None, usd=None) is None
    assert steps_within(amount, usd=1.0) is None, "a free model uses no money up"

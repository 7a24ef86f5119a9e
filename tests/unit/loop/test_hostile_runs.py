"""Whole runs whose optimizer answers anything at all: they end, and nothing is lost or hidden."""

from __future__ import annotations

import random
from itertools import product
from typing import Any, get_args

import pytest
from hostile_checks import check, events_of
from hostile_models import Given, Hostile
from scripted_run import ScriptedRun, item, make_plan
from spoilt_replies import SPOILERS, Fate

from skillopt.domain.events import Reflected
from skillopt.domain.item import Splits
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import UpdateMode

SEEDS = 200
PER_TEST = 25
#: Seeds whose plans change the document in the three ways that there are.
ONE_OF_EACH_MODE = (8, 4, 5)
WORDS = ("alpha", "beta", "gamma", "delta", "other")

DOCUMENT = """---
name: greeter
description: Greets people.
---
# Greeter

Be brief.

<!-- FROZEN_START -->
Never lie. “Café”, naïve.
<!-- FROZEN_END -->

<!-- SLOW_UPDATE_START -->
Older guidance.
<!-- SLOW_UPDATE_END -->

Say hello first.

<!-- APPENDIX_START -->
- Mind the name.
<!-- APPENDIX_END -->
"""


def plan_of(seed: int) -> RunPlan:
    luck = random.Random(f"plan {seed}")
    evolve = luck.choice(["skill", "skill", "memory", "both"])
    modes = ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
    optimizer: dict[str, Any] = {
        "learning_rate": luck.choice([1, 2, 8]),
        "lr_control_mode": luck.choice(["fixed", "autonomous", "none"]),
        "skill_update_mode": "patch" if evolve == "both" else luck.choice(modes),
        "max_skill_tokens": luck.choice([None, len(DOCUMENT) // 4 + 8]),
        "use_slow_update": True,
        "slow_update_gate_with_selection": luck.random() < 0.5,
        "use_meta_skill": True,
        "use_skill_aware_reflection": luck.random() < 0.7,
        "skill_aware_consolidate_threshold": 1,
    }
    return make_plan(
        skill=DOCUMENT,
        memory=DOCUMENT.replace("Greeter", "Memory") if evolve != "skill" else None,
        splits=Splits(
            train=tuple(item(f"train-{word}", word) for word in WORDS),
            val=tuple(item(f"val-{word}", word) for word in (*WORDS[:3], "unknown")),
        ),
        settings={
            "train": {"num_epochs": 2, "batch_size": 4, "samples": 2, "seed": seed},
            "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
            "optimizer": optimizer,
            "evaluation": {"early_decision": True, "use_gate": luck.random() < 0.7},
            "evolve": evolve,
        },
    )


def hostile_run(seed: int, only: str = "") -> ScriptedRun:
    plan = plan_of(seed)
    mode = plan.settings.optimizer.skill_update_mode
    return ScriptedRun(plan, models=Hostile(seed=seed, mode=mode, only=only)).finish()


@pytest.mark.parametrize("first", range(0, SEEDS, PER_TEST))
def test_a_run_ends_and_keeps_all_that_can_be_used(first: int) -> None:
    for seed in range(first, first + PER_TEST):
        check(hostile_run(seed))


@pytest.mark.parametrize("way", SPOILERS)
def test_a_run_ends_if_every_reply_is_spoilt_alike(way: str) -> None:
    for seed in ONE_OF_EACH_MODE:
        check(hostile_run(seed, way))


@pytest.mark.parametrize("way", ["fenced", "repeated", "within a list"])
def test_what_stands_around_a_reply_changes_nothing(way: str) -> None:
    for seed in ONE_OF_EACH_MODE:
        assert hostile_run(seed, way).events == hostile_run(seed, "clean").events


@pytest.mark.parametrize("way", ["empty", "prose", "open brackets", "null", "wrong type"])
def test_without_any_usable_reply_the_documents_stay_as_they_are(way: str) -> None:
    for seed in ONE_OF_EACH_MODE:
        run = hostile_run(seed, way)
        assert list(run.state.texts.values()) == [run.plan.initial]
        groups = [group for event in events_of(run, Reflected) for group in event.groups]
        assert {group.status for group in groups} == {"dropped"}


def test_the_examples_spoil_every_stage_in_every_way() -> None:
    modes = {plan_of(seed).settings.optimizer.skill_update_mode for seed in ONE_OF_EACH_MODE}
    assert modes == set(get_args(UpdateMode))
    given: list[Given] = []
    for seed in range(2 * PER_TEST):
        models = hostile_run(seed).models
        assert isinstance(models, Hostile)
        given += models.given.values()
    assert {one.spoilt for one in given} == set(SPOILERS)
    found = {(one.stage, one.fate) for one in given}
    assert found == set(product(get_args(OptimizeStage), get_args(Fate)))

"""Whole runs on chance alone: how often does the gate take noise for a gain, how often does it
see a real one? All with the functions that a run uses, and with fixed seeds.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.events import Gated, Measured, StepStarted
from skillopt.domain.item import Splits
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.run import RunState
from skillopt.loop.fold import apply
from skillopt.loop.gate import judge_candidate
from skillopt.loop.gate_rules import GateRules, rules_of
from skillopt.loop.spending import first_level
from skillopt.stats.power import smallest_effect

GATES, ITEMS = 10, 40


class Chance:
    """A target whose passes are drawn: what one document brings on every task."""

    def __init__(self, seed: int, samples: int, chances: list[float]) -> None:
        self.draw, self.chances = random.Random(seed).random, chances
        self.scores = [
            ItemScore(status="scored", hard=passes / samples, soft=passes / samples)
            for passes in range(samples + 1)
        ]
        self.samples = samples

    def measure(self, skill: str, gain: float = 0.0) -> Measurement:
        draw = self.draw
        items = {
            f"t{index}": self.scores[sum(draw() < chance + gain for _ in range(self.samples))]
            for index, chance in enumerate(self.chances)
        }
        return Measurement.model_construct(skill=skill, split="val", items=items)


def run_of(samples: int, significance: float | None) -> RunState:
    """A run of ten steps, one gate each."""
    splits = Splits(
        train=tuple(item(f"lesson-{n}", "word") for n in range(GATES)),
        val=tuple(item(f"t{n}", "word") for n in range(ITEMS)),
    )
    settings = {
        "train": {"num_epochs": 1, "batch_size": 1},
        "evaluation": {"samples": samples, "significance": significance},
    }
    return ScriptedRun(make_plan(splits=splits, settings=settings)).state


def accepted_in(begun: RunState, chance: Chance) -> int:
    """Play a run in which every candidate is as good as the first document."""
    state = apply(begun, Measured(measurement=chance.measure(begun.current)))
    accepted = 0
    for step in range(1, GATES + 1):
        started = StepStarted.model_construct(
            step=step, epoch=1, skill=state.current, items=(), edit_budget=1
        )
        state = apply(state, started)
        measured, rules = chance.measure(f"candidate {step}"), rules_of(state)
        opinion = judge_candidate(measured, state.measured[(state.current, "val")], rules)
        gated = Gated.model_construct(
            step=step,
            source="step",
            skill=measured.skill,
            verdict=opinion.verdict,
            new_best=opinion.verdict == "accept",
            level=rules.level,
            measurement=measured,
        )
        state = apply(state, gated)
        accepted += opinion.verdict == "accept"
    return accepted


def runs_that_accept(runs: int, samples: int, significance: float | None) -> int:
    begun = run_of(samples, significance)
    tasks = random.Random(samples)
    chances = [tasks.choice([0.1, 0.3, 0.5, 0.7, 0.9]) for _ in range(ITEMS)]
    return sum(accepted_in(begun, Chance(seed, samples, chances)) > 0 for seed in range(runs))


@pytest.mark.parametrize("samples", [1, 3])
def test_documents_that_are_equal_are_seldom_taken_for_better(samples):
    """36 of 500 is as many as chance would exceed in one of a hundred such experiments."""
    assert runs_that_accept(500, samples, 0.05) <= 36


def test_without_significance_noise_is_accepted_in_nearly_every_run():
    """Why the option exists: with ten gates some equal candidate is luckier than the first."""
    assert runs_that_accept(60, 1, None) > 50


def test_a_larger_bound_is_used_and_kept():
    """The test must not hide behind being too strict to ever accept."""
    accepted = runs_that_accept(200, 3, 0.4)
    assert 10 < accepted <= 0.4 * 200


@pytest.mark.parametrize(
    ("items", "samples", "significance"),
    [(40, 1, 0.1), (40, 3, 0.05), (60, 2, 0.05), (120, 1, 0.05), (120, 5, 0.05), (200, 5, 0.05)],
)
def test_the_smallest_visible_effect_is_seen_in_four_of_five_gates(items, samples, significance):
    state = run_of(samples, significance)
    level = first_level(state.plan)
    assert level is not None
    effect = smallest_effect(items, samples, level)
    assert effect is not None
    rules = GateRules(state.plan.settings.evaluation, level)
    chance = Chance(items + samples, samples, [0.5] * items)
    accepted = sum(
        judge_candidate(chance.measure("new", effect), chance.measure("old"), rules).verdict
        == "accept"
        for _ in range(400)
    )
    assert 300 <= accepted <= 340


def test_the_smallest_visible_gain_of_the_mean_is_seen_in_four_of_five_gates():
    effect = smallest_effect(40, 2, None)
    assert effect is not None
    rules = replace(rules_of(run_of(2, None)), level=None)
    chance = Chance(1, 2, [0.5] * 40)
    accepted = sum(
        judge_candidate(chance.measure("new", effect), chance.measure("old"), rules).verdict
        == "accept"
        for _ in range(400)
    )
    assert 300 <= accepted <= 340

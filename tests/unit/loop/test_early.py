from __future__ import annotations

import random
from dataclasses import dataclass, replace
from itertools import product

import pytest
from loop_values import measurement
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.item import Splits
from skillopt.domain.measurement import ItemScore, Measurement
from skillopt.domain.spec import Evaluation
from skillopt.loop.early import deciding_prefix, early_opinion, gate_order
from skillopt.loop.gate import judge_candidate
from skillopt.loop.gate_rules import GateRules

INVALID, LEFT_OUT = ItemScore(status="invalid"), ItemScore(status="left_out")
MISSING = ItemScore(status="missing")


def scored(hard: float, soft: float) -> ItemScore:
    return ItemScore(status="scored", hard=hard, soft=soft)


def measured(scores: list[ItemScore]) -> Measurement:
    items = {f"t{index}": score for index, score in enumerate(scores)}
    return Measurement(skill="s", split="val", items=items)


def head(whole: Measurement, count: int) -> Measurement:
    return whole.model_copy(update={"items": dict(list(whole.items.items())[:count])})


@dataclass
class Case:
    """A gate at random: its rules, the current document, and all that a candidate brings."""

    rules: GateRules
    current: Measurement
    candidate: Measurement
    random: random.Random

    @classmethod
    def of(cls, seed: int) -> Case:
        stream = random.Random(seed)
        samples = stream.choice([1, 1, 2, 3, 5])
        settings = Evaluation(
            gate_metric=stream.choice(["hard", "hard", "soft", "mixed"]),
            gate_mixed_weight=stream.choice([0.0, 0.25, 0.3, 1.0]),
            samples=samples,
            min_coverage=stream.choice([1.0, 0.5]),
        )
        size = stream.randint(1, 14)
        level = stream.choice([None, None, 0.5, 0.25, 0.1, 0.05, 0.005, stream.random()])
        chosen = stream.random() < 0.3
        protected = [f"t{i}" for i in range(size) if chosen and stream.random() < 0.3]
        rules = GateRules(settings, level, frozenset(protected))
        skill, change = stream.random(), stream.choice([-0.5, -0.2, 0.0, 0.2, 0.5])
        self = cls(rules, measured([]), measured([]), stream)
        self.current = measured([self.drawn(skill, current=True) for _ in range(size)])
        self.candidate = measured([self.drawn(skill + change) for _ in range(size)])
        return self

    def drawn(self, chance: float, *, current: bool = False) -> ItemScore:
        luck = self.random.random()
        if luck < 0.1:
            return self.random.choice([INVALID, LEFT_OUT, MISSING if current else INVALID])
        samples = self.rules.settings.samples
        passes = [self.random.random() < chance for _ in range(samples)]
        checks = self.random.choice([2, 3, 7, 17])
        softs = [1.0 if won else self.random.randrange(checks) / checks for won in passes]
        return scored(sum(passes) / samples, sum(softs) / samples)

    def finished_otherwise(self, known: int) -> Measurement:
        """The same first items with other results after them."""
        chance = self.random.choice([0.0, 0.3, 0.7, 1.0, 1.0])
        after = [self.drawn(chance) for _ in range(len(self.current.items) - known)]
        return measured([*list(self.candidate.items.values())[:known], *after])

    def full(self, candidate: Measurement | None = None) -> str:
        return judge_candidate(candidate or self.candidate, self.current, self.rules).verdict

    def early(self, known: int) -> int | None:
        return deciding_prefix(head(self.candidate, known), self.current, self.rules)


def test_an_early_decision_never_differs_from_the_full_one():
    """10,000 gates at random, and other endings of each of those that were decided early."""
    decided, verdicts = 0, set()
    for seed in range(10_000):
        case = Case.of(seed)
        size = len(case.current.items)
        found, full = case.early(size), judge_candidate(case.candidate, case.current, case.rules)
        verdict = full.verdict
        verdicts.add((verdict, case.rules.level is not None))
        if found is None:
            assert verdict != "reject" or not full.pairs, seed
            continue
        part = head(case.candidate, found)
        opinion = early_opinion(part, case.current, case.rules)
        assert (verdict, opinion.verdict) == ("reject", "reject"), seed
        assert opinion.reason.startswith(f"cannot be accepted any more after {found} of {size}")
        decided += found < size
        for _ in range(4):
            ending = case.finished_otherwise(found)
            assert case.full(ending) == "reject", (seed, ending)
    assert decided > 2_000, "the cases must show early decisions"
    assert {
        ("accept", False),
        ("accept", True),
        ("underpowered", True),
        ("reject", True),
        ("indecisive", False),
    } <= verdicts, "the cases must show every verdict"


def test_the_number_of_items_does_not_depend_on_how_many_results_are_there():
    for seed in range(1_500):
        case = Case.of(seed)
        size = len(case.current.items)
        least = case.early(size)
        for known in range(size):
            expected = least if least is not None and known >= least else None
            assert case.early(known) == expected, (seed, known)


def test_no_fewer_items_would_have_been_enough():
    """Whatever the gate did not decide on is open indeed: some ending brings another verdict."""
    endings = [INVALID, *(scored(value, value) for value in (0.0, 0.5, 1.0))]
    checked = 0
    for seed in range(3_000):
        stream = random.Random(seed)
        settings = Evaluation(gate_metric=stream.choice(["hard", "soft", "mixed"]), samples=2)
        size = stream.randint(1, 5)
        level = stream.choice([None, 0.5, 0.3, 0.125, 0.0625, 0.05])
        protected = frozenset(["t0", "t2"] if stream.random() < 0.3 else [])
        rules = GateRules(settings, level, protected)
        current = measured(stream.choices(endings[1:], k=size))
        candidate = measured(stream.choices(endings, k=size))
        found = deciding_prefix(candidate, current, rules)
        if found == 0:
            continue
        open_after = size if found is None else found - 1
        known = list(candidate.items.values())[:open_after]
        verdicts = {
            judge_candidate(measured([*known, *rest]), current, rules).verdict
            for rest in product(endings, repeat=size - open_after)
        }
        assert verdicts != {"reject"}, (seed, found)
        checked += found is not None
    assert checked > 1_000


@pytest.mark.parametrize("level", [None, 0.05])
def test_a_missing_result_stops_nothing_that_is_certain(level):
    """What is missing could bring full marks at most."""
    current = measurement(a=1.0, b=1.0, c=1.0, d=0.0, e=1.0)
    part = measurement(a=0.0, b=0.0)
    assert deciding_prefix(part, current, GateRules(Evaluation(), level)) == 1


def test_a_gate_that_cannot_decide_does_not_decide_early_either():
    current = measurement(a=1.0, b=0.0, c="missing")
    rules = GateRules(Evaluation(min_coverage=0.9), protected=frozenset("a"))
    assert deciding_prefix(measurement(a=0.0), current, rules) is None
    enough = GateRules(Evaluation(min_coverage=0.6), protected=frozenset("a"))
    assert deciding_prefix(measurement(a=0.0), current, enough) == 1


def test_a_candidate_that_may_turn_out_underpowered_is_not_rejected_early():
    """It cannot be accepted any more, but `underpowered` says something else than `reject`."""
    current = measurement(a=0.0, b=1.0, c=1.0, d=1.0)
    rules = GateRules(Evaluation(), level=0.05)
    assert deciding_prefix(measurement(a=1.0, b=1.0, c=1.0), current, rules) is None
    assert deciding_prefix(measurement(a=0.0, b=1.0, c=1.0), current, rules) == 1


class TestReasons:
    def test_a_mean_that_cannot_rise(self):
        current = measurement(a=1.0, b=1.0, c=0.0, d=1.0)
        found = early_opinion(measurement(a=0.0, b=1.0), current, GateRules(Evaluation()))
        assert found.reason == (
            "cannot be accepted any more after 2 of 4 tasks: even with full marks on the other 2 "
            "the mean hard would not rise"
        )
        assert (found.candidate, found.current, found.pairs) == (0.5, 1.0, 2)
        assert (found.improved, found.regressed, found.p_value) == ((), ("a",), None)

    def test_a_protected_task(self):
        current = measurement(a=1.0, b=0.0, c=0.0, d=0.0)
        rules = GateRules(Evaluation(), protected=frozenset("ad"))
        found = early_opinion(measurement(a=0.0), current, rules)
        assert found.reason == (
            "cannot be accepted any more after 1 of 4 tasks: protected tasks got worse: a"
        )

    def test_a_level_that_cannot_be_reached(self):
        current = measurement(a=1.0, b=1.0, c=0.0, d=0.0, e=0.0, f=0.0)
        rules = GateRules(Evaluation(), level=0.2)
        assert deciding_prefix(measurement(a=0.0, b=0.0, c=1.0), current, rules) == 2
        found = early_opinion(measurement(a=0.0, b=0.0), current, rules)
        assert found.reason == (
            "cannot be accepted any more after 2 of 6 tasks: even with full marks on the other 4 "
            "p would be 0.344, above this gate's level 0.2"
        )


class TestOrder:
    def state(self, **measurements: Measurement):
        """The document `now` is current; the others were measured before."""
        val = tuple(item(name, name) for name in "abcd")
        run = ScriptedRun(make_plan(splits=Splits(val=val)))
        known = {(name, "val"): one for name, one in measurements.items()}
        return replace(run.state, current="now", measured=known)

    def order(self, state) -> str:
        return "".join(one.id for one in gate_order(state))

    def test_without_any_difference_it_is_that_of_the_file(self):
        assert self.order(self.state()) == "abcd"
        assert self.order(self.state(now=measurement(a=1.0, b=1.0, c=1.0, d=1.0))) == "abcd"

    def test_what_varied_most_between_documents_comes_first(self):
        state = self.state(
            old=measurement(a=1.0, b=0.0, c=0.5, d=1.0),
            now=measurement(a=1.0, b=1.0, c=1.0, d=1.0),
        )
        assert self.order(state) == "bcad"

    def test_of_equal_ones_that_with_most_to_gain_comes_first(self):
        state = self.state(now=measurement(a=1.0, b=0.5, c=1.0, d=0.0))
        assert self.order(state) == "dbac"

    def test_items_without_a_score_count_with_those_that_have_one(self):
        state = self.state(
            old=measurement(a=0.0, b="invalid", c=1.0, d="missing"),
            now=measurement(a="invalid", b=0.0, c=0.0, d=1.0),
        )
        assert self.order(state) == "cbad"

    def test_only_val_counts_and_the_metric_decides(self):
        now = measurement(a=(1.0, 0.1), b=(0.0, 0.9), c=(1.0, 1.0), d=(1.0, 0.0))
        state = self.state(now=now)
        test = measurement(a=0.0, b=1.0, c=0.0, d=1.0).model_copy(update={"split": "test"})
        state = replace(state, measured={**state.measured, ("now", "test"): test})
        assert self.order(state) == "bacd"
        settings = state.plan.settings
        soft = settings.evaluation.model_copy(update={"gate_metric": "soft"})
        changed = settings.model_copy(update={"evaluation": soft})
        plan = state.plan.model_copy(update={"settings": changed})
        assert self.order(replace(state, plan=plan)) == "dabc"

    def test_what_is_left_out_comes_first_for_nothing_is_wanted_for_it(self):
        state = self.state(now=measurement(a=0.0, b=0.0, c=0.0, d=0.0))
        assert self.order(replace(state, left_out={"c": "broken"})) == "cabd"

from __future__ import annotations

import pytest
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.item import Splits
from skillopt.loop.gate_rules import protected_tasks, rules_of

TAGS = {"a": ("core",), "b": ("core", "slow"), "c": (), "core": ()}
ITEMS = tuple(item(name, name).model_copy(update={"tags": tags}) for name, tags in TAGS.items())


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ((), ""),
        (("c",), "c"),
        (("c", "a"), "ac"),
        (("tag:core",), "ab"),
        (("tag:slow", "c"), "bc"),
        (("tag:cor",), ""),
        (("tag:a",), ""),
        (("absent",), ""),
    ],
)
def test_tasks_are_named_by_id_or_by_tag(named, expected):
    assert protected_tasks(named, ITEMS) == frozenset(expected)


def test_an_id_that_equals_a_tag_is_an_id():
    assert protected_tasks(("core",), ITEMS) == {"core"}


def test_all_is_every_task():
    assert protected_tasks(("all",), ITEMS) == set(TAGS)


def test_the_rules_of_a_run_protect_tasks_of_val_only():
    evaluation = {"no_regression": ["tag:core", "train-only"], "significance": 0.1}
    train = tuple(one.model_copy(update={"id": f"train-{one.id}"}) for one in ITEMS)
    plan = make_plan(splits=Splits(train=train, val=ITEMS), settings={"evaluation": evaluation})
    rules = rules_of(ScriptedRun(plan).state)
    assert rules.protected == {"a", "b"}
    assert rules.settings == plan.settings.evaluation
    assert rules.level == pytest.approx(0.05), "two epochs of one step each"

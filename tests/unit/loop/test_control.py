from __future__ import annotations

import json
from typing import Any

import pytest
from loop_values import edit
from stage_values import Bench, rewrite_to, suggestion

from skillopt.domain.events import BudgetDecided
from skillopt.domain.measurement import ItemScore
from skillopt.loop.control import choose_budget
from skillopt.loop.decision import StageResult
from skillopt.loop.select import select
from skillopt.loop.update import update

EDITS = tuple(edit(f"Rule {number}.") for number in range(3))
BATCH = {
    "t1": ItemScore(status="scored", hard=1.0, soft=1.0),
    "t2": ItemScore(status="scored", hard=0.0, soft=0.5),
    "t3": ItemScore(status="missing"),
}


class Control(Bench):
    def __init__(self, *, n_edits: int = 3, budget: int | None = 2, **more: Any) -> None:
        optimizer = {"lr_control_mode": "autonomous", **more.pop("optimizer", {})}
        super().__init__(budget=budget, optimizer=optimizer, **more)
        self.reflected(**BATCH).merged(*EDITS[:n_edits])

    def answer(self, rate: object, **more: Any) -> BudgetDecided:
        found = self.reply(choose_budget, {"learning_rate": rate, **more}).event
        assert isinstance(found, BudgetDecided)
        return found


def test_the_optimizer_says_how_many_edits_are_applied():
    found = Control().answer(3, reasoning="all good", confidence=0.8, risk_notes=["long"])
    assert found == BudgetDecided(
        step=1,
        edit_budget=3,
        reasoning="all good",
        confidence=0.8,
        risk_notes=("long",),
        status="ok",
    )


def test_more_than_there_are_is_all_of_them():
    found = Control().answer(99)
    assert found.edit_budget == 3
    assert "99" in found.problem


def test_zero_means_zero_and_the_step_says_so():
    control = Control()
    control.put(budget=control.answer(0))
    chosen = control.look(select).event
    assert (chosen.edits, chosen.how) == ((), "none")
    skipped = control.put(selected=chosen).look(update).event
    assert (skipped.reason, skipped.detail) == ("no_edits", "the optimizer chose to apply no edit")


def test_without_edits_nobody_is_asked():
    found = Control(n_edits=0).look(choose_budget)
    assert found.wanted == ()
    assert found.event == BudgetDecided(step=1, edit_budget=0, status="ok")


def test_an_unreadable_reply_is_asked_for_again():
    control = Control()
    assert control.reply(choose_budget, "three, I think").event is None
    assert control.answer(1).status == "repaired"


@pytest.mark.parametrize(("scheduled", "expected"), [(2, 2), (9, 3), (None, 3)])
@pytest.mark.parametrize("text", ["", "four", '{"learning_rate": null}', '{"learning_rate": true}'])
def test_a_reply_unreadable_twice_leaves_it_to_the_schedule(text, scheduled, expected):
    control = Control(budget=scheduled)
    control.reply(choose_budget, text)
    found = control.reply(choose_budget, text).event
    assert (found.edit_budget, found.status) == (expected, "fallback")
    assert "asked again" in found.problem


def test_a_call_that_was_given_up_decides_nothing():
    assert Control().give_up(choose_budget) == StageResult(given_up="timeout")


def test_the_prompt_shows_what_there_is_to_decide_by():
    control = Control(meta_skill="Small edits survive.")
    control.after_a_skip("the document did not change")
    prompt = control.prompt(choose_budget)
    assert "the document did not change" in prompt["Earlier steps"]
    assert control.plan.skill.strip() in prompt["Current skill"]
    assert prompt["Batch"].splitlines() == ["n: 2", "hard: 0.500", "soft: 0.750"]
    assert prompt["What editing has taught so far"] == "Small edits survive."
    assert [row["content"] for row in json.loads(prompt["Merged edits"])] == [
        one.content for one in EDITS
    ]


def test_a_batch_without_a_score_is_told_as_not_measured():
    control = Control()
    control.reflected().merged(*EDITS)
    assert "hard: not measured" in control.prompt(choose_budget)["Batch"]


def test_suggestions_are_counted_like_edits():
    control = Control(optimizer={"skill_update_mode": "rewrite_from_suggestions"})
    control.merged(suggestion("Headings."), suggestion("Sources."))
    assert "Merged suggestions" in control.prompt(choose_budget)
    assert control.answer(5).edit_budget == 2


def test_a_whole_rewrite_is_no_matter_of_numbers():
    control = Control(budget=None, optimizer={"skill_update_mode": "full_rewrite_minibatch"})
    control.merged(rewrite_to("# A\n"), rewrite_to("# B\n"))
    found = control.look(choose_budget)
    assert found.wanted == ()
    assert found.event is not None
    assert found.event.edit_budget == 1

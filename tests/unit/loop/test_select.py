from __future__ import annotations

import json
from typing import Any

import pytest
from loop_values import edit
from stage_values import Bench, messages_of, rewrite_to, suggestion

from skillopt.domain.events import Selected
from skillopt.loop.decision import StageResult
from skillopt.loop.prompt_parts import CHANGES_LIMIT
from skillopt.loop.select import select

EDITS = tuple(edit(f"Rule {number}.") for number in range(5))


class Choice(Bench):
    """A step with merged edits; the ranking call is answered by the test."""

    def __init__(self, budget: int | None, n_edits: int = 5, **more: Any) -> None:
        super().__init__(budget=budget, **more)
        self.merged(*EDITS[:n_edits])

    def rank(self, *indices: object) -> StageResult[Selected]:
        return self.reply(select, {"selected_indices": list(indices)})


def chosen(found: StageResult[Selected]) -> tuple[list[str], str]:
    assert found.event is not None
    return [one.content for one in found.event.edits], found.event.how


@pytest.mark.parametrize("budget", [5, 9, None])
def test_edits_within_the_budget_are_all_taken_without_a_call(budget):
    found = Choice(budget).look(select)
    assert chosen(found) == ([one.content for one in EDITS], "all")


def test_a_budget_of_zero_takes_nothing_and_asks_nobody():
    assert chosen(Choice(0).look(select)) == ([], "none")


def test_without_edits_nothing_is_selected():
    assert chosen(Choice(2, n_edits=0).look(select)) == ([], "none")


@pytest.mark.parametrize(("decided", "how"), [(0, "none"), (5, "all")])
def test_the_budget_that_the_optimizer_chose_beats_the_scheduled_one(decided, how):
    found = Choice(2).decided(decided).look(select)
    assert chosen(found) == ([one.content for one in EDITS[:decided]], how)


def test_the_ranked_order_is_the_order_of_application():
    assert chosen(Choice(2).rank(4, 1)) == (["Rule 4.", "Rule 1."], "ranked")


def test_never_more_than_the_budget():
    assert chosen(Choice(2).rank(4, 1, 0, 2, 3)) == (["Rule 4.", "Rule 1."], "ranked")


def test_fewer_than_the_budget_is_the_models_choice():
    assert chosen(Choice(3).rank(2)) == (["Rule 2."], "ranked")


def test_indices_that_are_no_edit_are_left_out_and_told():
    found = Choice(2).rank(7, True, "1", 3, 3, 0)
    assert chosen(found) == (["Rule 3.", "Rule 0."], "ranked")
    assert found.event is not None
    assert "selected_indices[0] is 7" in found.event.problem


def test_an_empty_selection_falls_back_to_the_first_edits():
    found = Choice(2).rank()
    assert chosen(found) == (["Rule 0.", "Rule 1."], "fallback")
    assert found.event is not None
    assert found.event.problem == "the ranking selected nothing"


def test_an_unreadable_ranking_is_repaired():
    choice = Choice(2)
    assert choice.reply(select, "no JSON").event is None
    assert chosen(choice.rank(3)) == (["Rule 3."], "repaired")


@pytest.mark.parametrize(
    "text", ["no JSON", "", "[0, 1]", '{"selected_indices": 1}', '{"selected_indices": [9, null]}']
)
def test_a_ranking_unreadable_twice_falls_back(text):
    choice = Choice(2)
    choice.reply(select, text)
    found = choice.reply(select, text)
    assert chosen(found) == (["Rule 0.", "Rule 1."], "fallback")
    assert found.event is not None
    assert "asked again" in found.event.problem


def test_a_ranking_that_was_given_up_selects_nothing_yet():
    assert Choice(2).give_up(select) == StageResult(given_up="timeout")


def test_the_prompt_shows_the_documents_the_meta_skill_and_how_many_are_wanted():
    choice = Choice(2, meta_skill="Small edits survive.")
    [job] = choice.look(select).wanted
    assert messages_of(job)[0].content == choice.plan.templates["rank"]
    prompt = choice.prompt(select)
    assert choice.plan.skill.strip() in prompt["Current skill"]
    assert prompt["What editing has taught so far"] == "Small edits survive."
    assert prompt["Edits wanted"] == "Select at most 2 edits."
    assert [row["content"] for row in json.loads(prompt["Edits"])] == [e.content for e in EDITS]


def test_suggestions_are_ranked_like_edits():
    choice = Bench(budget=1, optimizer={"skill_update_mode": "rewrite_from_suggestions"})
    choice.merged(suggestion("Headings."), suggestion("Sources."))
    prompt = choice.prompt(select)
    assert [row["instruction"] for row in json.loads(prompt["Suggestions"])] == [
        "Headings.",
        "Sources.",
    ]
    assert prompt["Edits wanted"] == "Select at most 1 suggestions."
    found = choice.reply(select, {"selected_indices": [1]}).event
    assert [one.instruction for one in found.edits] == ["Sources."]


def test_rewrites_are_never_ranked_the_first_one_is_kept():
    choice = Bench(budget=None, optimizer={"skill_update_mode": "full_rewrite_minibatch"})
    choice.merged(rewrite_to("# A\n"), rewrite_to("# B\n"))
    found = choice.look(select)
    assert found.wanted == ()
    assert found.event is not None
    assert [one.new_skill for one in found.event.edits] == ["# A\n"]
    assert found.event.problem == "of 2 rewrites the first is kept"


def test_long_edits_are_cut_for_the_ranking_and_applied_as_they_are():
    long = [edit(f"{number} " * (CHANGES_LIMIT // 4)) for number in range(3)]
    choice = Choice(1).merged(*long)
    shown = choice.prompt(select)["Edits"]
    assert len(shown) < CHANGES_LIMIT
    assert [row["index"] for row in json.loads(shown)] == [0, 1, 2]
    found = choice.reply(select, {"selected_indices": [2]})
    assert chosen(found) == ([long[2].content], "ranked")

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from loop_values import Table, edit, merged, step_of, with_step
from scripted_run import ScriptedRun

from skillopt.domain.events import StepStarted
from skillopt.domain.messages import decode_messages
from skillopt.loop.select import Selecting, select

EDITS = tuple(edit(f"Rule {number}.") for number in range(5))


class Choice:
    """A step with five merged edits; the ranking call is answered by the test."""

    def __init__(self, budget: int, n_edits: int = 5) -> None:
        self.run = ScriptedRun().until(StepStarted)
        step = step_of(self.run)
        started = step.started.model_copy(update={"edit_budget": budget})
        self.step = merged(replace(step, started=started), EDITS[:n_edits])
        self.state, self.facts = with_step(self.run.state, self.step), Table()

    def look(self) -> Selecting:
        return select(self.state, self.facts, self.run.factory, self.step)

    def reply(self, text: str) -> Selecting:
        self.facts.reply(self.look().wanted[0].id, text)
        return self.look()

    def rank(self, *indices: object) -> Selecting:
        return self.reply(json.dumps({"selected_indices": list(indices)}))


def chosen(found: Selecting) -> tuple[list[str], str]:
    assert found.selected is not None
    return [one.content for one in found.selected.edits], found.selected.how


@pytest.mark.parametrize("budget", [5, 9])
def test_edits_within_the_budget_are_all_taken_without_a_call(budget):
    found = Choice(budget).look()
    assert found.wanted == ()
    assert chosen(found) == ([one.content for one in EDITS], "all")


def test_a_budget_of_zero_takes_nothing_and_asks_nobody():
    found = Choice(0).look()
    assert found.wanted == ()
    assert chosen(found) == ([], "none")


def test_without_edits_nothing_is_selected():
    assert chosen(Choice(2, n_edits=0).look()) == ([], "none")


def test_the_ranked_order_is_the_order_of_application():
    assert chosen(Choice(2).rank(4, 1)) == (["Rule 4.", "Rule 1."], "ranked")


def test_never_more_than_the_budget():
    assert chosen(Choice(2).rank(4, 1, 0, 2, 3)) == (["Rule 4.", "Rule 1."], "ranked")


def test_fewer_than_the_budget_is_the_models_choice():
    assert chosen(Choice(3).rank(2)) == (["Rule 2."], "ranked")


def test_indices_that_are_no_edit_are_left_out():
    assert chosen(Choice(2).rank(7, True, "1", 3, 3, 0)) == (["Rule 3.", "Rule 0."], "ranked")


def test_an_empty_selection_falls_back_to_the_first_edits():
    found = Choice(2).rank()
    assert chosen(found) == (["Rule 0.", "Rule 1."], "fallback")
    assert found.selected is not None
    assert found.selected.problem == "the ranking selected nothing"


def test_an_unreadable_ranking_is_repaired():
    choice = Choice(2)
    assert choice.reply("no JSON").selected is None
    assert chosen(choice.rank(3)) == (["Rule 3."], "repaired")


def test_a_ranking_unreadable_twice_falls_back():
    choice = Choice(2)
    choice.reply("no JSON")
    assert chosen(choice.reply("no JSON again")) == (["Rule 0.", "Rule 1."], "fallback")


def test_a_ranking_that_was_given_up_selects_nothing_yet():
    choice = Choice(2)
    job = choice.look().wanted[0]
    choice.state = replace(choice.state, given_up={job.id: "timeout"})
    assert choice.look() == Selecting(given_up="timeout")


def test_the_prompt_says_how_many_are_wanted():
    choice = Choice(2)
    system, user = decode_messages(choice.look().wanted[0].blobs[0])
    assert system.content == choice.run.plan.templates["rank"]
    assert "Select at most 2 edits." in user.content

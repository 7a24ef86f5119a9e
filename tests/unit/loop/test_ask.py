from __future__ import annotations

from dataclasses import replace
from functools import partial

from loop_values import Table
from scripted_run import ScriptedRun

from skillopt.domain.jobs import OptimizeSpec
from skillopt.domain.messages import Message, decode_messages
from skillopt.domain.results import InvalidBody
from skillopt.loop.ask import SHOWN_REPLY, Answer, ask
from skillopt.loop.jobs import WantedJob
from skillopt.loop.replies import RankReply, parse_rank

PROMPT = (Message(role="system", content="Rank."), Message(role="user", content="Three edits."))
GOOD = '{"selected_indices": [2]}'
BAD = '{"selected_indices": "all of them"}'


class Asking:
    def __init__(self) -> None:
        self.run = ScriptedRun()
        self.state, self.facts = self.run.state, Table()

    def ask(self) -> Answer[RankReply]:
        return ask(
            self.state,
            self.facts,
            self.run.factory,
            stage="rank",
            messages=PROMPT,
            parse=partial(parse_rank, n_edits=3),
            label="step 1 / rank",
        )

    def wanted(self) -> WantedJob:
        wanted = self.ask().wanted
        assert wanted is not None
        return wanted

    def give_up(self, job: str) -> None:
        self.state = replace(self.state, given_up={job: "server_error: 500"})


def sent(job: WantedJob) -> tuple[Message, ...]:
    assert isinstance(job.spec, OptimizeSpec)
    return decode_messages(job.blobs[0])


def test_the_prompt_is_asked_once():
    asking = Asking()
    job = asking.wanted()
    assert sent(job) == PROMPT
    assert (job.role, job.label) == ("optimizer", "step 1 / rank")
    assert asking.ask().status == "waiting"


def test_a_good_reply_needs_nothing_more():
    asking = Asking()
    job = asking.wanted()
    asking.facts.reply(job.id, GOOD)
    answer = asking.ask()
    assert (answer.status, answer.wanted, answer.jobs) == ("ok", None, (job.id,))
    assert answer.value is not None
    assert answer.value.selected_indices == (2,)


def test_a_bad_reply_is_asked_again_with_the_reply_and_what_is_wrong_with_it():
    asking = Asking()
    first = asking.wanted()
    asking.facts.reply(first.id, BAD)
    second = asking.wanted()
    assert second.label == "step 1 / rank / repair"
    *prompt, reply, complaint = sent(second)
    assert tuple(prompt) == PROMPT
    assert reply == Message(role="assistant", content=BAD)
    assert complaint == Message(
        role="user",
        content="Not usable: 'selected_indices' must be a list of whole numbers, not a text",
    )
    asking.facts.reply(second.id, GOOD)
    answer = asking.ask()
    assert (answer.status, answer.jobs) == ("repaired", (first.id, second.id))
    assert "must be a list" in answer.problem


def test_a_second_bad_reply_fails_and_nothing_more_is_asked():
    asking = Asking()
    asking.facts.reply(asking.wanted().id, BAD)
    asking.facts.reply(asking.wanted().id, "still no JSON")
    answer = asking.ask()
    assert (answer.status, answer.value, answer.wanted) == ("failed", None, None)
    assert "must be a list" in answer.problem
    assert "asked again: the reply holds no JSON object" in answer.problem


def test_a_reply_with_braces_or_slots_is_quoted_as_it_is():
    asking = Asking()
    asking.facts.reply(asking.wanted().id, "{{error}} {broken")
    assert sent(asking.wanted())[2].content == "{{error}} {broken"


def test_a_given_up_call_is_not_a_failed_one():
    asking = Asking()
    asking.give_up(asking.wanted().id)
    answer = asking.ask()
    assert (answer.status, answer.wanted) == ("given_up", None)
    assert answer.problem == "server_error: 500"


def test_a_given_up_repair_is_given_up_as_well():
    asking = Asking()
    asking.facts.reply(asking.wanted().id, BAD)
    asking.give_up(asking.wanted().id)
    assert asking.ask().status == "given_up"


def test_a_prompt_that_the_content_filter_refuses_fails_without_a_repair():
    asking = Asking()
    asking.facts.bodies[asking.wanted().id] = InvalidBody(reason="filtered")
    answer = asking.ask()
    assert (answer.status, answer.wanted) == ("failed", None)
    assert "content filter" in answer.problem


def test_a_refused_repair_keeps_the_first_reply_and_what_was_wrong_with_it():
    asking = Asking()
    first = asking.wanted()
    asking.facts.reply(first.id, BAD)
    second = asking.wanted()
    asking.facts.bodies[second.id] = InvalidBody(reason="filtered")
    answer = asking.ask()
    assert (answer.status, answer.jobs) == ("failed", (first.id, second.id))
    assert "must be a list" in answer.problem
    assert "content filter" in answer.problem


def test_an_endless_reply_is_not_sent_back_as_a_whole():
    asking = Asking()
    asking.facts.reply(asking.wanted().id, "no JSON " * 125_000)
    shown = sent(asking.wanted())[2].content
    assert len(shown) < SHOWN_REPLY + 100
    assert "characters left out" in shown

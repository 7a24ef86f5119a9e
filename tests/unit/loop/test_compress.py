from __future__ import annotations

import re
from typing import Any

import pytest
from loop_values import edit
from scripted_run import SKILL
from stage_values import Bench

from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.skill import SkillDocument
from skillopt.loop.decision import StageResult
from skillopt.loop.update import update

LONG = edit("x" * 100)
LIMIT = 20
FROZEN = "<!-- FROZEN_START -->\n" + "Never shout. " * 20 + "\n<!-- FROZEN_END -->\n"


def too_long(**more: Any) -> Bench:
    optimizer = {"max_skill_tokens": LIMIT, **more.pop("optimizer", {})}
    return Bench(optimizer=optimizer, **more).selected(LONG)


def skipped(found: StageResult[Any]) -> Skipped:
    assert isinstance(found.event, Skipped), found
    return found.event


def test_a_candidate_within_the_limit_is_not_compressed():
    found = Bench(optimizer={"max_skill_tokens": LIMIT}).selected(edit("Sign it.")).look(update)
    assert isinstance(found.event, Proposed)
    assert found.event.how == "edits"


def test_a_candidate_over_the_limit_is_asked_once_to_be_shorter():
    bench = too_long()
    prompt = bench.prompt(update)
    assert "x" * 100 in prompt["Current skill"]
    assert prompt["Limit"].startswith("At most 20 tokens, which is about 80 characters.")
    found = bench.reply(update, {"new_skill": "# Greeter\n\nBe brief. x\n"}).event
    assert isinstance(found, Proposed)
    assert (found.how, found.text) == ("compressed", "# Greeter\n\nBe brief. x\n")
    assert [report.status for report in found.reports] == ["applied_append"]


def test_a_reply_that_is_still_too_long_drops_the_candidate_with_both_figures():
    found = skipped(too_long().reply(update, {"new_skill": "y" * 85}))
    assert found.reason == "too_long"
    assert "about 33 tokens, max_skill_tokens is 20" in found.detail
    assert re.search(r"compressed, it has about 2\d tokens", found.detail)
    assert len(found.reports) == 1


@pytest.mark.parametrize("text", ["", "prose", '{"new_skill": null}', '{"new_skill": ""}'])
def test_an_unusable_reply_drops_the_candidate_and_says_why(text):
    bench = too_long()
    bench.reply(update, text)
    found = skipped(bench.reply(update, text))
    assert found.reason == "too_long"
    assert "about 33 tokens" in found.detail
    assert "asked again" in found.detail


def test_a_text_compressed_to_what_it_was_before_is_no_change():
    assert skipped(too_long().reply(update, {"new_skill": SKILL})).reason == "no_change"


def test_a_call_that_was_given_up_decides_nothing():
    assert too_long().give_up(update) == StageResult(given_up="timeout")


def test_protected_parts_count_and_are_taken_off_what_is_asked_for():
    document = SkillDocument.parse(SKILL + "\n" + FROZEN)
    text = document.render()
    kept = len(text) - len(document.outline())
    limit = (len(text) + 40) // 4
    bench = too_long(skill=text, optimizer={"max_skill_tokens": limit})
    prompt = bench.prompt(update)
    assert "Never shout." not in prompt["Current skill"]
    room = int(re.findall(r"\d+", prompt["Limit"])[0])
    assert 0 <= limit * 4 - kept - room * 4 < 4
    found = bench.reply(update, {"new_skill": "# Greeter\n\nBe brief. x\n"}).event
    assert isinstance(found, Proposed)
    assert FROZEN.strip() in found.text
    assert len(found.text) <= limit * 4


def test_a_document_that_began_too_long_is_compressed_to_its_own_length_not_further():
    text = f"# Greeter\n\n{'Be brief. ' * 50}\n"
    bench = too_long(skill=text)
    room = int(re.findall(r"\d+", bench.prompt(update)["Limit"])[0])
    assert room == len(text) // 4
    found = bench.reply(update, {"new_skill": text.replace("brief", "short")}).event
    assert isinstance(found, Proposed)
    assert found.how == "compressed"


def test_where_protected_parts_alone_are_too_long_nobody_is_asked():
    bench = Bench(optimizer={"max_skill_tokens": LIMIT}).selected(edit("Sign it."))
    found = bench.noted("Check the units of every figure. " * 9).look(update)
    assert found.wanted == ()
    assert skipped(found).reason == "too_long"
    assert "its protected parts alone are too long" in skipped(found).detail

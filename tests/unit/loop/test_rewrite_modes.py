from __future__ import annotations

import json
from typing import Any

import pytest
from stage_values import SECRET, Bench, rewrite_to, suggestion

from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.skill import SkillDocument
from skillopt.loop.decision import StageResult
from skillopt.loop.update import update

FRONT = "---\nname: greeter\n---\n"
FROZEN = "<!-- FROZEN_START -->\nNever shout.\n<!-- FROZEN_END -->\n"
GUIDANCE = "<!-- SLOW_UPDATE_START -->\nKeep it short.\n<!-- SLOW_UPDATE_END -->\n"
DOCUMENT = f"{FRONT}\n# Greeter\n\nBe brief.\n\n{FROZEN}\nBe kind.\n\n{GUIDANCE}"
HEADINGS = suggestion("Ask for headings.", "t1")


def by_suggestions(*selected: Any, **more: Any) -> Bench:
    mode = {"skill_update_mode": "rewrite_from_suggestions", **more.pop("optimizer", {})}
    return Bench(optimizer=mode, **{"skill": DOCUMENT, **more}).selected(*(selected or [HEADINGS]))


def whole(*texts: str, **more: Any) -> Bench:
    mode = {"skill_update_mode": "full_rewrite_minibatch", **more.pop("optimizer", {})}
    bench = Bench(budget=None, optimizer=mode, **{"skill": DOCUMENT, **more})
    return bench.selected(*map(rewrite_to, texts))


def proposed(found: StageResult[Any]) -> Proposed:
    assert isinstance(found.event, Proposed), found
    return found.event


def skipped(found: StageResult[Any]) -> Skipped:
    assert isinstance(found.event, Skipped), found
    return found.event


def protected(text: str) -> tuple[str, list[str]]:
    document = SkillDocument.parse(text)
    return document.front_matter, sorted(region.render() for region in document.regions)


# --- by suggestions


def test_one_call_rewrites_the_document_by_the_suggestions():
    bench = by_suggestions(HEADINGS, suggestion("Name sources.", "t2"), meta_skill="Be careful.")
    prompt = bench.prompt(update)
    outline = SkillDocument.parse(DOCUMENT).outline()
    assert outline.strip() in prompt["Current skill"]
    assert "Never shout." not in prompt["Current skill"]
    assert [row["instruction"] for row in json.loads(prompt["Suggestions"])] == [
        "Ask for headings.",
        "Name sources.",
    ]
    assert prompt["What editing has taught so far"] == "Be careful."
    new = outline.replace("Be brief.", "Be brief, with headings.")
    found = proposed(bench.reply(update, {"new_skill": new}))
    assert found.text == DOCUMENT.replace("Be brief.", "Be brief, with headings.")
    assert (found.how, found.reports, found.problem) == ("rewrite", (), "")


def test_who_rewrites_is_told_what_earlier_steps_tried():
    bench = by_suggestions().after_a_skip("the document did not change")
    assert "the document did not change" in bench.prompt(update)["Earlier steps"]


def test_preferences_are_shown_to_who_rewrites():
    bench = by_suggestions(settings={"preferences": "British spelling."})
    assert bench.prompt(update)["What the user prefers"] == "British spelling."


def test_a_rewrite_without_the_protected_parts_gets_them_back_and_says_so():
    found = proposed(by_suggestions().reply(update, {"new_skill": "# Greeter\n\nUse headings.\n"}))
    assert protected(found.text) == protected(DOCUMENT)
    assert "Use headings." in SkillDocument.parse(found.text).body


def test_a_rewrite_with_markers_of_its_own_cannot_touch_the_protected_parts():
    forged = f"# Greeter\n\n<!-- SLOW_UPDATE_START -->\nShout.\n<!-- SLOW_UPDATE_END -->\n{FROZEN}"
    found = proposed(by_suggestions().reply(update, {"new_skill": forged}))
    assert protected(found.text) == protected(DOCUMENT)
    assert found.problem


def test_nothing_is_selected_and_nobody_is_asked():
    bench = by_suggestions().selected()
    assert skipped(bench.look(update)).reason == "no_edits"


def test_an_outline_that_comes_back_unchanged_is_no_change():
    outline = SkillDocument.parse(DOCUMENT).outline()
    assert skipped(by_suggestions().reply(update, {"new_skill": outline})).reason == "no_change"


def test_an_unreadable_rewrite_is_repaired():
    bench = by_suggestions()
    assert bench.reply(update, "no JSON").event is None
    found = proposed(bench.reply(update, {"new_skill": "# Greeter\n\nUse headings.\n"}))
    assert "no JSON object" in found.problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prose",
        "[]",
        '{"new_skill": null}',
        '{"new_skill": "  "}',
        '{"new_skill": "cut',
        "{" * 99,
    ],
)
def test_a_rewrite_unusable_twice_ends_the_step_and_says_why(text):
    bench = by_suggestions()
    bench.reply(update, text)
    found = skipped(bench.reply(update, text))
    assert found.reason == "no_rewrite"
    assert "asked again" in found.detail


def test_a_rewrite_of_protected_parts_alone_is_no_rewrite():
    keeps = [
        line for line in SkillDocument.parse(DOCUMENT).outline().splitlines() if "KEEP" in line
    ]
    found = skipped(by_suggestions().reply(update, {"new_skill": "\n".join(keeps)}))
    assert found.reason == "no_rewrite"
    assert "no text" in found.detail


def test_a_rewrite_that_was_given_up_decides_nothing():
    assert by_suggestions().give_up(update) == StageResult(given_up="timeout")


def test_notes_join_the_rewritten_document():
    bench = by_suggestions().noted("Check the units.")
    found = proposed(bench.reply(update, {"new_skill": "# Greeter\n\nUse headings.\n"}))
    assert "Check the units." in (SkillDocument.parse(found.text).appendix or "")
    assert "Use headings." in found.text


def test_notes_survive_a_rewrite_that_failed():
    bench = by_suggestions().noted("Check the units.")
    bench.reply(update, "prose")
    found = proposed(bench.reply(update, "prose"))
    assert "Check the units." in (SkillDocument.parse(found.text).appendix or "")
    assert "Be brief." in found.text
    assert "asked again" in found.problem


def test_the_memory_is_rewritten_where_only_that_evolves():
    bench = by_suggestions(settings={"evolve": "memory"}, memory="# Lessons\n")
    prompt = bench.prompt(update)
    assert "# Lessons" in prompt["Current memory"]
    assert "Skill (not to be changed)" in prompt
    found = proposed(bench.reply(update, {"new_skill": "# Lessons\n\nUse headings.\n"}))
    assert (found.text, found.memory) == (DOCUMENT, "# Lessons\n\nUse headings.\n")


# --- whole documents


def test_a_whole_document_becomes_the_candidate_without_a_call():
    outline = SkillDocument.parse(DOCUMENT).outline()
    bench = whole(outline.replace("Be kind.", "Be friendly."))
    found = proposed(bench.look(update))
    assert found.text == DOCUMENT.replace("Be kind.", "Be friendly.")
    assert found.how == "rewrite"


def test_a_whole_document_cannot_lose_the_protected_parts():
    found = proposed(whole("# Greeter\n\nSay hello.\n").look(update))
    assert protected(found.text) == protected(DOCUMENT)


def test_the_first_document_that_has_a_text_is_taken():
    found = proposed(whole(" \n", "# Greeter\n\nSay hello.\n").look(update))
    assert "Say hello." in found.text


def test_without_any_text_there_is_no_rewrite():
    found = skipped(whole(" \n", "").look(update))
    assert found.reason == "no_rewrite"
    assert found.detail


def test_a_whole_document_that_repeats_a_training_task_is_dropped_where_copies_are_blocked():
    text = f"# Greeter\n\n{SECRET}\n"
    assert skipped(whole(text, gradient={"copy_guard": "block"}).look(update)).reason == "copied"
    assert proposed(whole(text).look(update)).copied_from == ("secret",)

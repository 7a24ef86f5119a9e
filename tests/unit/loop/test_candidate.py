from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scripted_run import SKILL
from stage_values import SECRET, Bench

from skillopt.domain.documents import Documents
from skillopt.domain.edits import EditReport, EditStatus
from skillopt.domain.events import Proposed, Skipped
from skillopt.domain.fingerprint import text_hash
from skillopt.loop.candidate import candidate_or_skip

NEW = f"{SKILL}\nName your sources.\n"
REPORTS = (EditReport(index=0, op="append", status=EditStatus.APPLIED_APPEND),)


def tried(bench: Bench, text: str, memory: str | None = None, **more: Any) -> Proposed | Skipped:
    given = {"step": 1, "source": "step", "how": "edits", **more}
    return candidate_or_skip(bench.state, Documents(skill=text, memory=memory), **given)


def why(found: Proposed | Skipped) -> str:
    assert isinstance(found, Skipped), found
    return found.reason


def test_a_new_text_is_a_candidate():
    bench = Bench()
    found = tried(bench, NEW, reports=REPORTS, problem="a row was left out")
    assert found == Proposed(
        step=1,
        parent=bench.state.current,
        skill=text_hash(NEW),
        text=NEW,
        reports=REPORTS,
        problem="a row was left out",
    )


def test_source_and_origin_are_told():
    found = tried(Bench(), NEW, step=4, source="slow_update", how="guidance")
    assert isinstance(found, Proposed)
    assert (found.step, found.source, found.how) == (4, "slow_update", "guidance")
    skipped = tried(Bench(), SKILL, step=4, source="slow_update", how="guidance")
    assert (skipped.step, skipped.source) == (4, "slow_update")


@pytest.mark.parametrize(
    "text",
    [
        SKILL,
        SKILL + "\n\n",
        SKILL.rstrip("\n"),
        SKILL.replace("\n", " \t\n"),
        SKILL.replace("\n", "\r\n"),
    ],
    ids=["the same", "more newlines", "no newline", "spaces at line ends", "carriage returns"],
)
def test_what_differs_by_white_space_at_line_ends_is_no_change(text):
    found = tried(Bench(), text, reports=REPORTS, problem="a row was left out")
    assert why(found) == "no_change"
    assert found.reports == REPORTS
    assert "a row was left out" in found.detail


@pytest.mark.parametrize(
    "text",
    [SKILL.replace("brief", "Brief"), SKILL.replace("\n\n", "\n \n\n"), f" {SKILL}"],
    ids=["a letter", "a line", "a space at a line's start"],
)
def test_anything_else_is_a_change(text):
    assert isinstance(tried(Bench(), text), Proposed)


def test_a_text_that_was_rejected_is_not_tried_again():
    bench = Bench()
    bench.state = replace(bench.state, rejected=frozenset({text_hash(NEW)}))
    found = tried(bench, NEW)
    assert why(found) == "already_rejected"
    assert text_hash(NEW)[:16] in found.detail


@pytest.mark.parametrize("text", [NEW, NEW + "\n", NEW.replace("\n", "  \n")])
def test_a_text_that_was_left_behind_is_not_tried_again(text):
    """Going back to an earlier document would be a loop, and its score is known."""
    bench = Bench()
    texts = {**bench.state.texts, text_hash(NEW): Documents(skill=NEW)}
    bench.state = replace(bench.state, texts=texts)
    found = tried(bench, text)
    assert why(found) == "already_rejected"
    assert text_hash(NEW)[:16] in found.detail


def test_the_same_skill_with_another_memory_is_another_candidate():
    bench = Bench(settings={"evolve": "both"}, memory="Lessons.\n")
    assert why(tried(bench, SKILL, "Lessons.\n")) == "no_change"
    found = tried(bench, SKILL, "Other lessons.\n")
    assert isinstance(found, Proposed)
    assert found.memory == "Other lessons.\n"
    assert found.skill == bench.plan.key_of(found.documents)


# --- copies


def test_new_lines_that_repeat_a_training_task_are_flagged():
    found = tried(Bench(), f"{SKILL}\n{SECRET}\n")
    assert isinstance(found, Proposed)
    assert found.copied_from == ("secret",)


def test_new_lines_that_repeat_a_training_task_are_blocked_where_asked_for():
    found = tried(Bench(gradient={"copy_guard": "block"}), f"{SKILL}\n{SECRET}\n")
    assert why(found) == "copied"
    assert "'secret'" in found.detail


def test_without_the_guard_copies_are_not_looked_for():
    found = tried(Bench(gradient={"copy_guard": "off"}), f"{SKILL}\n{SECRET}\n")
    assert isinstance(found, Proposed)
    assert found.copied_from == ()


def test_lines_that_were_there_before_are_no_copies():
    bench = Bench(gradient={"copy_guard": "block"}, skill=f"# Greeter\n\n{SECRET}\n")
    assert isinstance(tried(bench, f"# Greeter\n\n{SECRET}\n\nBe brief.\n"), Proposed)


def test_a_text_that_was_there_before_may_be_written_anew():
    bench = Bench(gradient={"copy_guard": "block"}, skill=f"# Greeter\n\n{SECRET}\n")
    assert isinstance(tried(bench, f"# Greeter\n\n- {SECRET}\n"), Proposed)


def test_a_copy_in_the_memory_is_found_too():
    bench = Bench(
        settings={"evolve": "both"}, memory="Lessons.\n", gradient={"copy_guard": "block"}
    )
    assert why(tried(bench, SKILL, f"Lessons.\n\n{SECRET}\n")) == "copied"


# --- length


def test_a_text_at_the_limit_is_a_candidate_and_one_character_more_is_not():
    tokens = 20
    longest = SKILL + "x" * (tokens * 4 - len(SKILL))
    bench = Bench(optimizer={"max_skill_tokens": tokens})
    assert isinstance(tried(bench, longest), Proposed)
    found = tried(bench, longest + "x")
    assert why(found) == "too_long"
    assert found.detail == "about 21 tokens, max_skill_tokens is 20"


def test_a_document_that_began_too_long_may_change_but_not_grow():
    bench = Bench(optimizer={"max_skill_tokens": 2})
    assert isinstance(tried(bench, SKILL.replace("brief", "short")), Proposed)
    found = tried(bench, SKILL.replace("brief", "shorter"))
    assert why(found) == "too_long"
    assert found.detail == (
        "about 8 tokens, max_skill_tokens is 2 and the current document has about 7"
    )


def test_the_limit_counts_the_primary_document_alone():
    bench = Bench(
        settings={"evolve": "both"}, memory="Lessons.\n", optimizer={"max_skill_tokens": 10}
    )
    assert isinstance(tried(bench, SKILL, "Lessons. " * 99), Proposed)
    bench = Bench(
        settings={"evolve": "memory"}, memory="Lessons.\n", optimizer={"max_skill_tokens": 10}
    )
    assert why(tried(bench, SKILL, "Lessons. " * 99)) == "too_long"

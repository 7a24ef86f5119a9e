"""Replies that propose changes: what is usable is kept, the rest is named."""

from __future__ import annotations

import json

import pytest

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.spec import UpdateMode
from skillopt.errors import ReplyError
from skillopt.loop.replies import (
    CHANGES_KEY,
    AnalystReply,
    MergeReply,
    ProposedEdit,
    ProposedRewrite,
    ProposedSuggestion,
    parse_analyst,
    parse_merge,
    salvaged_analyst,
)
from skillopt.loop.replies.rows import MOST_ROWS

APPEND = {"op": "append", "target": "", "content": "- be brief"}
BRIEF = ProposedEdit(op="append", content="- be brief")
SUGGESTION = {
    "type": "add_rule",
    "title": "Risks",
    "motivation": "they are missing",
    "instruction": "Ask for a section on risks.",
    "priority_hint": "high",
}
REWRITE = {"title": "Shorter", "change_summary": ["fewer words"], "new_skill": "# Skill\n\nBe."}
MODES: list[UpdateMode] = ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"]
ROWS: dict[UpdateMode, dict[str, object]] = dict(
    zip(MODES, (APPEND, SUGGESTION, REWRITE), strict=True)
)


def analyst(*edits: object, **more: object) -> str:
    return json.dumps(
        {"batch_size": 2, "patch": {"reasoning": "why", "edits": list(edits)}, **more}
    )


# --- analysts -----------------------------------------------------------------------------------


def test_an_analysts_edits_and_summary_are_read():
    reply = parse_analyst(
        analyst(
            APPEND,
            {"op": "Insert-After", "target": "# T", "content": "x", "why": "extra"},
            {"op": "delete", "target": "old", "content": None, "document": "memory"},
            failure_summary=[
                {"failure_type": "no risks", "count": "many", "description": "heading missing"},
                {"failure_type": None, "description": "too long"},
                17,
            ],
        ),
        "patch",
    )
    assert reply == AnalystReply(
        reasoning="why",
        summary=("no risks: heading missing", "too long"),
        changes=(
            BRIEF,
            ProposedEdit(op="insert_after", target="# T", content="x"),
            ProposedEdit(op="delete", target="old", document="memory"),
        ),
    )


def test_suggestions_are_read_with_their_priority():
    text = json.dumps({"patch": {"reasoning": "r", "revise_suggestions": [SUGGESTION]}})
    reply = parse_analyst(text, "rewrite_from_suggestions")
    assert reply.changes == (ProposedSuggestion.model_validate(SUGGESTION),)
    assert reply.problems == ()


def test_a_suggestion_needs_only_its_instruction():
    rows = [
        {"instruction": "Say more."},
        {"type": "Merge Rules", "instruction": "Merge.", "priority_hint": "urgent"},
        {"type": "add_rule", "title": "without", "instruction": "  "},
    ]
    text = json.dumps({"patch": {"revise_suggestions": rows}})
    reply = parse_analyst(text, "rewrite_from_suggestions")
    assert reply.changes == (
        ProposedSuggestion(type="clarify", instruction="Say more."),
        ProposedSuggestion(type="merge_rules", instruction="Merge."),
    )
    assert reply.problems == (
        "patch.revise_suggestions[0] has the type None, read as 'clarify'",
        "patch.revise_suggestions[1] has the priority_hint 'urgent', read as 'medium'",
        "patch.revise_suggestions[2] has no instruction",
    )


def test_a_rewrite_is_read_as_it_stands_region_markers_and_all():
    text = "---\nname: x\n---\n<!-- APPENDIX_START -->\n- n\n<!-- APPENDIX_END -->\n"
    rows = [{**REWRITE, "change_summary": "one line"}, {"new_skill": text}, {"new_skill": ""}]
    reply = parse_analyst(
        json.dumps({"patch": {"skill_candidates": rows}}), "full_rewrite_minibatch"
    )
    assert reply.changes == (
        ProposedRewrite(title="Shorter", change_summary=("one line",), new_skill="# Skill\n\nBe."),
        ProposedRewrite(new_skill=text),
    )
    assert reply.problems == ("patch.skill_candidates[2] has no new_skill",)


def test_success_patterns_are_a_summary_too():
    reply = parse_analyst(analyst(success_patterns=["names its sources", "", None]), "patch")
    assert reply.summary == ("names its sources",)
    assert reply.changes == ()


@pytest.mark.parametrize("batch_size", ["two", None, True, [], {}, -1, 1e300])
def test_a_batch_size_that_is_no_number_does_no_harm(batch_size):
    assert len(parse_analyst(analyst(APPEND, batch_size=batch_size), "patch").changes) == 1


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("append x", "is a text, not an object"),
        (None, "is null, not an object"),
        ([APPEND], "is a list, not an object"),
        ({"op": "add", "content": "x"}, "has the op 'add'; use one of append"),
        ({"content": "x"}, "has the op None"),
        ({"op": 3, "content": "x"}, "has the op 3"),
        ({"op": {"a": 1}, "content": "x"}, "has the op an object"),
        ({"op": "append", "content": 5}, "has a number as content"),
        ({"op": "append", "content": True}, "has a boolean as content"),
        ({"op": "replace", "target": ["a"], "content": "x"}, "has a list as target"),
        ({"op": "append", "content": None}, "is 'append' without content"),
        ({"op": "replace", "target": "a"}, "is 'replace' without content"),
        (
            {"op": "insert_after", "target": None, "content": "x"},
            "is 'insert_after' without a target",
        ),
        ({"op": "delete", "target": " "}, "is 'delete' without a target"),
        ({"op": "append", "content": "\ud800"}, "content that is not valid Unicode"),
        ({"op": "append", "content": "x" * 60_000}, "has a content of 60000 characters"),
        (
            {"op": "append", "content": "<!-- APPENDIX_START --> <!-- SLOW_UPDATE_END -->"},
            "is 'append' without content",
        ),
    ],
)
def test_one_bad_edit_is_reported_and_the_others_are_kept(row, words):
    other = {"op": "delete", "target": "old"}
    reply = parse_analyst(analyst(APPEND, row, other), "patch")
    assert reply.changes == (BRIEF, ProposedEdit(op="delete", target="old"))
    [problem] = reply.problems
    assert problem.startswith("patch.edits[1] ")
    assert words in problem


def test_region_markers_are_taken_out_of_an_edit_and_that_is_recorded():
    row = {"op": "append", "content": "Be brief.<!-- SLOW_UPDATE_START --> Now."}
    reply = parse_analyst(analyst(row), "patch")
    assert reply.changes == (ProposedEdit(op="append", content="Be brief. Now."),)
    [problem] = reply.problems
    assert problem == "patch.edits[0] had region markers in its content; they are left out"


def test_a_document_that_does_not_exist_is_named_and_the_edit_kept():
    reply = parse_analyst(analyst({**APPEND, "document": "diary"}), "patch")
    assert reply.changes == (BRIEF,)
    assert "names the document 'diary'" in reply.problems[0]


def test_a_flood_of_bad_edits_is_reported_in_short():
    problems = parse_analyst(analyst(*[None] * 500), "patch").problems
    assert len(problems) == 11
    assert problems[-1] == "and 490 more"


def test_a_flood_of_good_edits_ends_somewhere_and_says_so():
    rows = [{"op": "append", "content": f"rule {n}"} for n in range(MOST_ROWS + 7)]
    reply = parse_analyst(analyst(*rows), "patch")
    assert len(reply.changes) == MOST_ROWS
    assert reply.problems == (f"patch.edits goes on after {MOST_ROWS} rows; 7 are left out",)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"edits": []}, "lacks the key 'patch'"),
        ({"patch": None}, "'patch' must be an object with a list 'edits', not null"),
        ({"patch": [APPEND]}, "not a list"),
        ({"patch": {}}, "'patch.edits' must be a list of edits, not null"),
        ({"patch": {"edits": APPEND}}, "not an object"),
    ],
)
def test_a_wrong_frame_is_an_error_the_model_can_act_on(reply, words):
    with pytest.raises(ReplyError) as caught:
        parse_analyst(json.dumps(reply), "patch")
    assert words in str(caught.value)


def test_the_form_of_another_mode_is_an_error_that_names_the_right_key():
    with pytest.raises(ReplyError, match=r"'patch\.revise_suggestions' must be a list"):
        parse_analyst(analyst(APPEND), "rewrite_from_suggestions")


def test_text_that_cannot_be_stored_is_made_storable():
    text = '{"patch": {"reasoning": "a\\ud800b", "edits": []}, "success_patterns": ["x\\udfff"]}'
    reply = parse_analyst(text, "patch")
    assert reply.model_dump_json().encode()
    assert (reply.reasoning, reply.summary) == ("a?b", ("x?",))


def test_endless_reasoning_is_cut():
    text = json.dumps({"patch": {"reasoning": "why " * 250_000, "edits": [APPEND]}})
    reply = parse_analyst(text, "patch")
    assert len(reply.reasoning) == 5_000
    assert reply.changes == (BRIEF,)


# --- several objects ----------------------------------------------------------------------------


def test_edits_of_several_objects_are_read_together_the_last_first():
    draft = analyst(APPEND, {"op": "delete", "target": "old"})
    final = analyst({"op": "append", "content": "- be exact"}, APPEND)
    reply = parse_analyst(f"Draft:\n{draft}\nBetter:\n{final}", "patch")
    assert reply.changes == (
        ProposedEdit(op="append", content="- be exact"),
        BRIEF,
        ProposedEdit(op="delete", target="old"),
    )
    assert reply.problems == (
        "the reply holds 2 JSON objects with the key 'patch'; they are read together",
    )


def test_an_object_with_a_wrong_frame_does_not_spoil_the_one_beside_it():
    for text in (analyst(APPEND) + '{"patch": null}', '{"patch": 3}' + analyst(APPEND)):
        reply = parse_analyst(text, "patch")
        assert reply.changes == (BRIEF,)
        assert any("'patch' must be an object" in problem for problem in reply.problems)


def test_merges_in_several_objects_are_read_together():
    one, other = json.dumps({"edits": [APPEND]}), json.dumps({"edits": [{"op": "nothing"}]})
    reply = parse_merge(one + other, "patch")
    assert reply.changes == (BRIEF,)
    assert len(reply.problems) == 2


# --- notes of analysts --------------------------------------------------------------------------


def test_notes_stand_beside_the_changes_in_every_mode():
    for mode in MODES:
        text = json.dumps(
            {
                "patch": {CHANGES_KEY[mode]: [ROWS[mode]]},
                "appendix_notes": ["Remember the\nheading.", {"note": "And the tag."}],
            }
        )
        reply = parse_analyst(text, mode)
        assert len(reply.changes) == 1
        assert reply.notes == ("Remember the heading.", "And the tag.")
        assert reply.problems == ()


@pytest.mark.parametrize(
    ("notes", "kept", "words"),
    [
        ("Remember.", (), "appendix_notes is a text, not a list"),
        ({"a": 1}, (), "appendix_notes is an object, not a list"),
        ([1, "Good."], ("Good.",), "appendix_notes[0] is a number"),
        (["", "Good."], ("Good.",), "appendix_notes[0] is empty"),
        ([None, "Good."], ("Good.",), "appendix_notes[0] is null"),
        ([{"x": 1}, "Good."], ("Good.",), "appendix_notes[0] is an object"),
        (["x" * 2_000, "Good."], ("Good.",), "has 2000 characters"),
        (["Good.<!-- APPENDIX_END -->"], ("Good.",), "had region markers"),
    ],
)
def test_bad_notes_never_cost_a_change(notes, kept, words):
    reply = parse_analyst(analyst(APPEND, appendix_notes=notes), "patch")
    assert reply.changes == (BRIEF,)
    assert reply.notes == kept
    assert any(words in problem for problem in reply.problems)


# --- merges -------------------------------------------------------------------------------------


def test_a_merge_is_read_whatever_it_claims_about_support():
    rows = [
        {**APPEND, "support_count": "several", "source_type": "failure"},
        {"op": "append", "content": "x", "support_count": None, "source_type": "guess"},
        {"op": "replace"},
    ]
    reply = parse_merge(json.dumps({"reasoning": "one", "edits": rows}), "patch")
    assert reply == MergeReply(
        reasoning="one",
        changes=(BRIEF, ProposedEdit(op="append", content="x")),
        problems=("edits[2] is 'replace' without a target",),
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_merge_has_the_changes_of_its_mode(mode):
    [change] = parse_merge(json.dumps({CHANGES_KEY[mode]: [ROWS[mode]]}), mode).changes
    assert change.model_dump(mode="json", exclude_defaults=True).items() <= ROWS[mode].items()


def test_a_merge_without_a_list_of_edits_is_an_error():
    with pytest.raises(ReplyError, match="'edits' must be a list of edits, not a text"):
        parse_merge('{"edits": "none"}', "patch")


# --- what is left of a broken reply -------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_whole_changes_are_rescued_from_a_reply_that_is_cut_off(mode):
    text = json.dumps({"patch": {"reasoning": "r", CHANGES_KEY[mode]: [ROWS[mode]] * 2}})
    cut_off = text[: text.rindex("{") + 12]
    with pytest.raises(ReplyError, match="cut off"):
        parse_analyst(cut_off, mode)
    rescued = salvaged_analyst(cut_off, mode)
    assert rescued is not None
    assert rescued.changes == parse_analyst(text, mode).changes


def test_whole_changes_are_rescued_wherever_they_stand():
    for text in (
        json.dumps({"edits": [APPEND, 3]}),
        json.dumps({"answer": {"patch": [[APPEND]]}}),
        '{"patch": {"edits": [' + json.dumps(APPEND) + ", {oops}]}}",
        json.dumps([APPEND]),
    ):
        with pytest.raises(ReplyError):
            parse_analyst(text, "patch")
        rescued = salvaged_analyst(text, "patch")
        assert rescued is not None
        assert rescued.changes == (BRIEF,)


@pytest.mark.parametrize("text", ["", "words", '{"patch": {"edits": []}}', '{"op": "append"', "{"])
def test_nothing_is_rescued_from_nothing(text):
    assert salvaged_analyst(text, "patch") is None


def test_a_hostile_megabyte_gives_nothing_to_rescue():
    for text in ('{"a":' * 200_000, "{" * 1_000_000, '{"op":{' * 130_000, '{"a" b}' * 140_000):
        assert salvaged_analyst(text, "patch") is None


# --- becoming changes ---------------------------------------------------------------------------


def test_a_proposal_becomes_a_change_with_our_provenance():
    support = ("t1", "t2")
    assert BRIEF.as_change("success", support, "memory") == Edit(
        op="append",
        content="- be brief",
        document="memory",
        source_type="success",
        support=support,
    )
    said = ProposedEdit(op="append", content="x", document="skill")
    assert said.as_change("failure", support, "memory").document == "skill"
    suggestion = ProposedSuggestion.model_validate(SUGGESTION)
    assert suggestion.as_change("failure", support, "skill") == Suggestion.model_validate(
        {**SUGGESTION, "source_type": "failure", "support": support}
    )
    rewrite = ProposedRewrite.model_validate(REWRITE)
    assert rewrite.as_change("failure", support, "skill") == Rewrite.model_validate(
        {**REWRITE, "source_type": "failure", "support": support}
    )

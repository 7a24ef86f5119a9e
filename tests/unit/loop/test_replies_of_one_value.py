"""Replies that choose or write one thing, and what no reply may ever do."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from skillopt.errors import ReplyError
from skillopt.loop.replies import (
    CHANGES_KEY,
    GuidanceReply,
    LearningRateReply,
    NotesReply,
    RankReply,
    RewriteReply,
    parse_analyst,
    parse_learning_rate,
    parse_merge,
    parse_meta_skill,
    parse_notes,
    parse_rank,
    parse_rewrite,
    parse_slow_update,
    salvaged_analyst,
)

Parse = Callable[[str], BaseModel]
PARSERS: dict[str, Parse] = {
    **{f"analyst {mode}": partial(parse_analyst, mode=mode) for mode in CHANGES_KEY},
    **{f"merge {mode}": partial(parse_merge, mode=mode) for mode in CHANGES_KEY},
    "rank": partial(parse_rank, n_edits=3),
    "learning rate": partial(parse_learning_rate, available=3),
    "rewrite": parse_rewrite,
    "notes": parse_notes,
    "slow update": parse_slow_update,
    "meta skill": parse_meta_skill,
}

# --- rank ---------------------------------------------------------------------------------------


def test_a_ranking_keeps_valid_indices_in_order():
    reply = parse_rank(
        '{"reasoning": "r", "selected_indices": [3, true, 0, "1", 3, 9, -1, 2.0]}', 4
    )
    assert reply.selected_indices == (3, 0)
    assert reply.reasoning == "r"
    assert len(reply.problems) == 6
    assert reply.problems[0] == "selected_indices[1] is True, not an edit's index"
    assert reply.problems[2] == "selected_indices[4] repeats 3"


def test_a_ranking_may_select_nothing():
    assert parse_rank('{"selected_indices": []}', 4) == RankReply()


def test_the_last_of_several_rankings_counts():
    reply = parse_rank('{"selected_indices": [0]} no, {"selected_indices": [1]}', 4)
    assert reply.selected_indices == (1,)
    assert "the last one counts" in reply.problems[0]


@pytest.mark.parametrize(
    "text",
    ['{"selected_indices": 3}', '{"selected_indices": [4, false]}', '{"selected_indices": null}'],
)
def test_a_ranking_without_any_valid_index_is_an_error(text):
    with pytest.raises(ReplyError, match="'selected_indices' must"):
        parse_rank(text, 4)


# --- learning rate ------------------------------------------------------------------------------


def test_a_learning_rate_is_read_with_what_the_model_thinks_of_it():
    text = (
        '{"learning_rate": 2, "reasoning": "few", "confidence": 0.7, "risk_notes": ["a", 3, " b "]}'
    )
    assert parse_learning_rate(text, 5) == LearningRateReply(
        learning_rate=2, reasoning="few", confidence=0.7, risk_notes=("a", "b")
    )


@pytest.mark.parametrize(
    ("said", "read"),
    [('"3"', 3), ('" 2 "', 2), ("3.0", 3), ('"2.00"', 2), ("0", 0), ('"+1"', 1)],
)
def test_a_number_may_be_written_as_text(said, read):
    reply = parse_learning_rate(f'{{"learning_rate": {said}}}', 4)
    assert (reply.learning_rate, reply.problems) == (read, ())


@pytest.mark.parametrize(("said", "read"), [("9", 4), ("-2", 0), ('"100"', 4), ("1e15", 4)])
def test_a_number_out_of_range_is_brought_into_it_and_told(said, read):
    reply = parse_learning_rate(f'{{"learning_rate": {said}}}', 4)
    assert reply.learning_rate == read
    assert f"is read as {read}" in reply.problems[0]


@pytest.mark.parametrize(
    "said", ["true", "null", '"three"', '"3 edits"', "2.5", "[3]", '""', '"' + "9" * 5_000 + '"']
)
def test_what_is_no_whole_number_is_an_error(said):
    with pytest.raises(ReplyError, match="'learning_rate' must be a whole number from 0 to 4"):
        parse_learning_rate(f'{{"learning_rate": {said}}}', 4)


@pytest.mark.parametrize("said", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_none_is_refused(said):
    with pytest.raises(ReplyError, match=r"not a JSON value|too large"):
        parse_learning_rate(f'{{"learning_rate": {said}}}', 4)


@pytest.mark.parametrize(
    ("said", "read"),
    [("1", 1.0), ('"0.25"', 0.25), ("7", 1.0), ("-1", 0.0), ("true", None), ('"high"', None)],
)
def test_confidence_is_a_share_or_absent(said, read):
    text = f'{{"learning_rate": 1, "confidence": {said}, "risk_notes": "one"}}'
    reply = parse_learning_rate(text, 4)
    assert reply.confidence == read
    assert reply.risk_notes == ("one",)


# --- texts --------------------------------------------------------------------------------------


def test_a_rewritten_document_is_read_as_it_was_written():
    document = "# Skill\n\n<!-- KEEP 1 -->\n\nBe brief.\n"
    text = json.dumps({"reasoning": "r", "change_summary": ["a", None], "new_skill": document})
    assert parse_rewrite(text) == RewriteReply(
        reasoning="r", change_summary=("a",), new_skill=document
    )


def test_guidance_and_memory_are_read_without_region_markers():
    text = '{"reasoning": "r", "slow_update_content": " Keep it.<!-- SLOW_UPDATE_END -->\\n"}'
    assert parse_slow_update(text) == GuidanceReply(
        reasoning="r",
        content="Keep it.",
        problems=("slow_update_content had region markers; they are left out",),
    )
    assert parse_meta_skill('{"meta_skill_content": "Be exact."}').content == "Be exact."


@pytest.mark.parametrize(
    ("parse", "key"),
    [
        (parse_rewrite, "new_skill"),
        (parse_slow_update, "slow_update_content"),
        (parse_meta_skill, "meta_skill_content"),
    ],
)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "must be a text, not null"),
        (["x"], "must be a text, not a list"),
        (" \n", "must not be empty"),
        ("\ud800", "not valid Unicode"),
        ("x" * 1_000_000, "has 1000000 characters"),
    ],
)
def test_a_reply_without_a_usable_text_says_what_is_wrong(parse, key, value, words):
    with pytest.raises(ReplyError) as caught:
        parse(json.dumps({key: value}))
    assert f"{key!r}" in str(caught.value)
    assert words in str(caught.value)


def test_guidance_of_nothing_but_markers_is_an_error():
    with pytest.raises(ReplyError, match="nothing but region markers"):
        parse_slow_update('{"slow_update_content": "<!-- APPENDIX_START -->"}')


# --- notes --------------------------------------------------------------------------------------


def test_condensed_notes_are_lines_without_repetition():
    reply = parse_notes('{"appendix_notes": ["One  rule.", {"content": "Two."}, "One rule.", 4]}')
    assert reply == NotesReply(
        notes=("One rule.", "Two."), problems=("appendix_notes[3] is a number, not a text",)
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [("x", "must be a list of texts"), ([], "it is empty"), ([1], "appendix_notes[0] is a number")],
)
def test_condensing_into_nothing_is_an_error(value, words):
    with pytest.raises(ReplyError) as caught:
        parse_notes(json.dumps({"appendix_notes": value}))
    assert words in str(caught.value)


# --- any text -----------------------------------------------------------------------------------

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["append", "delete", "\ud800", "3", "<!-- APPENDIX_START -->", "add_rule"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["patch", "edits", "revise_suggestions", "skill_candidates", "selected_indices",
                 "op", "target", "content", "document", "type", "instruction", "priority_hint",
                 "new_skill", "change_summary", "reasoning", "failure_summary", "success_patterns",
                 "appendix_notes", "note", "learning_rate", "confidence", "risk_notes",
                 "slow_update_content", "meta_skill_content"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=14,
)  # fmt: skip
HOSTILE = VALUES.map(json.dumps)


@settings(deadline=None, max_examples=300)
@given(st.text() | HOSTILE | st.tuples(HOSTILE, st.text(max_size=3), HOSTILE).map("".join))
def test_any_text_gives_a_value_or_a_reply_error(text):
    for parse in PARSERS.values():
        try:
            reply = parse(text)
        except ReplyError as error:
            assert str(error).encode()
        else:
            assert reply.model_dump_json().encode()
    for mode in CHANGES_KEY:
        salvaged_analyst(text, mode)


EDITS = st.lists(
    st.builds(
        lambda op, text: {"op": op, "target": text, "content": text},
        st.sampled_from(["append", "insert_after", "replace", "delete"]),
        st.text("abc {}[]\"'\\\n`é", min_size=1, max_size=12).filter(str.strip),
    ),
    max_size=4,
    unique_by=lambda row: (row["op"], row["content"]),
)


@settings(deadline=None)
@given(EDITS, st.lists(VALUES, max_size=3), st.data())
def test_no_valid_edit_is_ever_lost_beside_others(valid, others, data):
    rows = data.draw(st.permutations([*valid, *others]))
    text = "Here:\n```json\n" + json.dumps({"patch": {"edits": rows}}) + "\n```"
    read = [
        change.model_dump(exclude={"document"}) for change in parse_analyst(text, "patch").changes
    ]
    assert all(edit in read for edit in valid)


@settings(deadline=None)
@given(EDITS.filter(bool), st.data())
def test_edits_before_the_place_where_a_reply_breaks_off_are_rescued(valid, data):
    text = json.dumps({"patch": {"edits": valid}})
    end = data.draw(st.integers(1, len(text) - 1))
    rescued = salvaged_analyst(text[:end], "patch")
    changes = rescued.changes if rescued else ()
    read = [change.model_dump(exclude={"document"}) for change in changes]
    whole = [edit for edit in valid if text.index(json.dumps(edit)) + len(json.dumps(edit)) <= end]
    assert read == whole


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I looked at it and would change a few things.",
        "```json\n```",
        '{"a":' * 200_000,
        "{" * 1_000_000,
        '{"a" b}' * 140_000,
        '{"patch": {"edits": [' * 50_000,
        json.dumps({"x": "y" * 1_000_000}),
        "[" * 500_000 + "]" * 500_000,
    ],
    ids=["empty", "prose", "fence", "nested", "braces", "broken", "frames", "long", "lists"],
)
def test_what_is_no_reply_is_refused_by_every_parser(name, text):
    with pytest.raises(ReplyError):
        PARSERS[name](text)


def test_a_megabyte_of_rows_and_indices_is_read():
    rows = [{"op": "append", "content": f"rule {n}"} for n in range(25_000)]
    assert parse_analyst(json.dumps({"patch": {"edits": rows}}), "patch").changes
    assert parse_merge(json.dumps({"edits": [None] * 200_000}), "patch").changes == ()
    ranking = json.dumps({"selected_indices": list(range(150_000))})
    assert parse_rank(ranking, 2).selected_indices == (0, 1)
    objects = '{"patch": {"edits": []}}' * 40_000
    assert parse_analyst(objects, "patch").changes == ()

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.errors import ReplyError
from skillopt.loop.json_reply import extract_object
from skillopt.loop.replies import (
    AnalystReply,
    MergeReply,
    ProposedEdit,
    RankReply,
    parse_analyst,
    parse_merge,
    parse_rank,
)

APPEND = {"op": "append", "target": "", "content": "- be brief"}


def analyst(*edits: object, **more: object) -> str:
    return json.dumps(
        {"batch_size": 2, "patch": {"reasoning": "why", "edits": list(edits)}, **more}
    )


# --- finding the object -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"k": {"a": "} ] ```"}}',
        'Sure! Here it is:\n```json\n{"k": {"a": "} ] ```"}}\n```\nHope that helps {really}.',
        '```\n{\n  "k": {"a": "} ] ```"}\n}\n```',
        'The set {1, 2} and {x: y} and [ and } and "{" … {"k": {"a": "} ] ```"}} :-}',
        'An object opens with `{"`, so: {"k": {"a": "} ] ```"}}',
        'Input was {"other": 1}. {} Output is {"k": {"a": "} ] ```"}} {"more": {"k": 2}}',
        '{"k": {"a": "} ] ```"}} and once more {"k": {"a": "} ] ```"}}',
        '{"k": 1, "k": {"a": "} ] ```"}}',
        '\ufeff{ "k" :\t{"a": "} ] ```"}}',
        '{"not" json} {"k": {"a": "} ] ```"}}',
    ],
)
def test_the_object_is_found_whatever_stands_around_it(text):
    assert extract_object(text, "k")["k"] == {"a": "} ] ```"}


def test_raw_line_breaks_and_tabs_in_strings_are_accepted():
    assert extract_object('{"k": "a\n\tb"}', "k") == {"k": "a\n\tb"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON object"),
        ("I could not find anything.", "no JSON object; one with the key 'k'"),
        ('["k"]', "no JSON object"),
        ('{"other": 1, "b": 2}', "lacks the key 'k'; its keys are 'other', 'b'"),
        ('{"outer": {"k": 1}}', "lacks the key 'k'"),
        ('[{"a": 1}]', "lacks the key 'k'"),
        ('{"k": 1} {"k": 2}', "2 JSON objects with the key 'k'"),
        ('{"k": {"edits": [{"op": "append"}, {"op"', "cut off"),
        ('{"k": {"a": 1}', "cut off"),
        ('{"k": "half a sent', "cut off"),
        ('{"k": 1} {"k": ', "cut off"),
        ('{"k": 1,}', "not valid: "),
        ('{"k": [1 2]}', "line 1 column 10"),
        ('{"k": NaN}', "NaN is not a JSON value"),
        ('{"k": -Infinity}', "-Infinity is not a JSON value"),
        ('{"k": 1e999}', "too large"),
        ('{"k": ' + "9" * 5000 + "}", "too large"),
        ('{"k": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
    ],
)
def test_a_reply_without_exactly_one_whole_object_says_what_is_wrong(text, words):
    with pytest.raises(ReplyError) as caught:
        extract_object(text, "k")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_malformed_reply_is_described_where_it_went_wrong_last():
    text = '{"x" oops} {"k": {"reasoning": "fine",\n "edits": [{"op": "append" "content": 1}]}}'
    with pytest.raises(ReplyError, match="line 2 column"):
        extract_object(text, "k")


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * 200_000,
        '{"a":[' * 160_000 + "x",
        '{"' * 500_000,
        "{" * 1_000_000,
        '{"a" b}' * 140_000,
        '{"a":{"a" x ' * 80_000,
        '{"a"\n' * 200_000,
        '{"a":NaN ' * 110_000,
        "{" + " " * 1_000_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_megabyte_is_refused_in_linear_time(text):
    with pytest.raises(ReplyError):
        extract_object(text, "k")


def test_a_good_megabyte_among_prose_is_read():
    text = "words {x} " * 50_000 + json.dumps({"k": "{" * 500_000})
    assert extract_object(text, "k")["k"] == "{" * 500_000


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    JSON_VALUES,
    st.sampled_from(["", "So: ", "```json\n", "a { b [ c ", "it's {x}, "]),
    st.booleans(),
)
def test_any_object_is_read_back_from_prose(value, before, compact):
    text = json.dumps({"k": value}, ensure_ascii=compact, indent=None if compact else 1)
    assert extract_object(before + text + "\n```\ndone }", "k") == {"k": value}


@pytest.mark.parametrize("escaped", [True, False])
def test_a_reply_cut_off_anywhere_is_never_taken_for_a_whole_one(escaped):
    inner = {"k": {"a": [True, False, None, -1.5e-7, 12, 'é😀\\"\n']}, "k2": [1e5, {}, []]}
    text = json.dumps({"k": inner, "b": None, "c": "😀", "d": -0.5e-10}, ensure_ascii=escaped)
    for length in range(2, len(text)):
        with pytest.raises(ReplyError, match="cut off"):
            extract_object(text[:length], "k")


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=3), st.data())
def test_a_truncated_object_is_never_taken_for_a_whole_one(value, data):
    text = json.dumps({"k": value})
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ReplyError):
        extract_object(text[:cut], "k")


# --- analysts -----------------------------------------------------------------------------------


def test_an_analysts_edits_and_summary_are_read():
    reply = parse_analyst(
        analyst(
            APPEND,
            {"op": "Insert-After", "target": "# T", "content": "x", "why": "extra"},
            {"op": "delete", "target": "old", "content": None},
            failure_summary=[
                {"failure_type": "no risks", "count": "many", "description": "heading missing"},
                {"failure_type": None, "description": "too long"},
                17,
            ],
        )
    )
    assert reply == AnalystReply(
        reasoning="why",
        summary=("no risks: heading missing", "too long"),
        edits=(
            ProposedEdit(op="append", content="- be brief"),
            ProposedEdit(op="insert_after", target="# T", content="x"),
            ProposedEdit(op="delete", target="old"),
        ),
    )


def test_success_patterns_are_a_summary_too():
    reply = parse_analyst(analyst(success_patterns=["names its sources", "", None]))
    assert reply.summary == ("names its sources",)
    assert reply.edits == ()


@pytest.mark.parametrize("batch_size", ["two", None, True, [], {}, -1, 1e300])
def test_a_batch_size_that_is_no_number_does_no_harm(batch_size):
    assert len(parse_analyst(analyst(APPEND, batch_size=batch_size)).edits) == 1


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
    ],
)
def test_one_bad_edit_is_reported_and_the_others_are_kept(row, words):
    reply = parse_analyst(analyst(APPEND, row, APPEND))
    assert len(reply.edits) == 2
    [problem] = reply.problems
    assert problem.startswith("patch.edits[1] ")
    assert words in problem


def test_a_flood_of_bad_edits_is_reported_in_short():
    problems = parse_analyst(analyst(*[None] * 500)).problems
    assert len(problems) == 11
    assert problems[-1] == "and 490 more"


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
        parse_analyst(json.dumps(reply))
    assert words in str(caught.value)


def test_text_that_cannot_be_stored_is_made_storable():
    text = '{"patch": {"reasoning": "a\\ud800b", "edits": []}, "success_patterns": ["x\\udfff"]}'
    reply = parse_analyst(text)
    assert reply.model_dump_json().encode()
    assert (reply.reasoning, reply.summary) == ("a?b", ("x?",))


# --- merge and rank -----------------------------------------------------------------------------


def test_a_merge_is_read_whatever_it_claims_about_support():
    rows = [
        {**APPEND, "support_count": "several", "source_type": "failure"},
        {**APPEND, "support_count": None, "source_type": "guess"},
        {"op": "replace"},
    ]
    reply = parse_merge(json.dumps({"reasoning": "one", "edits": rows}))
    edit = ProposedEdit(op="append", content="- be brief")
    assert reply == MergeReply(
        reasoning="one",
        edits=(edit, edit),
        problems=("edits[2] is 'replace' without a target",),
    )


def test_a_merge_without_a_list_of_edits_is_an_error():
    with pytest.raises(ReplyError, match="'edits' must be a list of edits, not a text"):
        parse_merge('{"edits": "none"}')


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


@pytest.mark.parametrize(
    "text",
    ['{"selected_indices": 3}', '{"selected_indices": [4, false]}', '{"selected_indices": null}'],
)
def test_a_ranking_without_any_valid_index_is_an_error(text):
    with pytest.raises(ReplyError, match="'selected_indices' must"):
        parse_rank(text, 4)


KEYS = st.sampled_from(
    ["patch", "edits", "selected_indices", "op", "target", "content", "reasoning",
     "failure_summary", "success_patterns"]
)  # fmt: skip
HOSTILE = st.recursive(
    JSON_VALUES | st.sampled_from(["append", "delete", "\ud800"]),
    lambda inner: st.dictionaries(KEYS, inner, max_size=4) | st.lists(inner, max_size=3),
    max_leaves=12,
).map(json.dumps)


@settings(deadline=None)
@given(st.text() | HOSTILE | st.tuples(HOSTILE, st.text(max_size=3), HOSTILE).map("".join))
def test_any_text_gives_a_value_or_a_reply_error(text):
    for parse in (parse_analyst, parse_merge, lambda reply: parse_rank(reply, 3)):
        try:
            reply = parse(text)
        except ReplyError as error:
            assert str(error).encode()
        else:
            assert reply.model_dump_json().encode()

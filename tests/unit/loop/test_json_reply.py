"""Finding the JSON objects of a reply, whatever a model puts around them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.domain.json_reply import extract_objects, several, whole_objects
from skillopt.errors import ReplyError


def the_object(text: str, key: str) -> dict[str, Any]:
    [found] = extract_objects(text, key)
    return found


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
    assert the_object(text, "k")["k"] == {"a": "} ] ```"}


def test_raw_line_breaks_and_tabs_in_strings_are_accepted():
    assert the_object('{"k": "a\n\tb"}', "k") == {"k": "a\n\tb"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no JSON object"),
        ("I could not find anything.", "no JSON object; one with the key 'k'"),
        ('["k"]', "no JSON object"),
        ('{"other": 1, "b": 2}', "lacks the key 'k'; its keys are 'other', 'b'"),
        ('{"outer": {"k": 1}}', "lacks the key 'k'"),
        ('[{"a": 1}]', "lacks the key 'k'"),
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
        the_object(text, "k")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_malformed_reply_is_described_where_it_went_wrong_last():
    text = '{"x" oops} {"k": {"reasoning": "fine",\n "edits": [{"op": "append" "content": 1}]}}'
    with pytest.raises(ReplyError, match="line 2 column"):
        the_object(text, "k")


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
        the_object(text, "k")


def test_a_good_megabyte_among_prose_is_read():
    text = "words {x} " * 50_000 + json.dumps({"k": "{" * 500_000})
    assert the_object(text, "k")["k"] == "{" * 500_000


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
    assert the_object(before + text + "\n```\ndone }", "k") == {"k": value}


@pytest.mark.parametrize("escaped", [True, False])
def test_a_reply_cut_off_anywhere_is_never_taken_for_a_whole_one(escaped):
    inner = {"k": {"a": [True, False, None, -1.5e-7, 12, 'é😀\\"\n']}, "k2": [1e5, {}, []]}
    text = json.dumps({"k": inner, "b": None, "c": "😀", "d": -0.5e-10}, ensure_ascii=escaped)
    for length in range(2, len(text)):
        with pytest.raises(ReplyError, match="cut off"):
            the_object(text[:length], "k")


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=4), JSON_VALUES, max_size=3), st.data())
def test_a_truncated_object_is_never_taken_for_a_whole_one(value, data):
    text = json.dumps({"k": value})
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(ReplyError):
        the_object(text[:cut], "k")


# --- several objects, and broken ones -----------------------------------------------------------


def test_different_objects_are_all_given_in_their_order_and_repetition_counts_once():
    text = 'Draft: {"k": 1} then {"k": 2}, again {"k": 1}, {"other": 3}.'
    assert extract_objects(text, "k") == ({"k": 1}, {"k": 2})


def test_more_than_one_object_is_a_problem_that_says_what_is_taken():
    assert several(({"k": 1},), "k", "the last one counts") == ()
    [problem] = several(({"k": 1}, {"k": 2}), "k", "the last one counts")
    assert problem == "the reply holds 2 JSON objects with the key 'k'; the last one counts"


def test_whole_objects_are_found_within_one_that_is_cut_off_or_broken():
    inner = '{"op": "append", "content": "a } b"}'
    cut_off = '{"patch": {"edits": [' + inner + ', {"op": "del'
    broken = '{"patch": {"edits": [' + inner + ", {oops}, " + inner + "]}}"
    assert list(whole_objects(cut_off)) == [json.loads(inner)]
    assert list(whole_objects(broken)) == [json.loads(inner)] * 2
    assert list(whole_objects("nothing here {")) == []

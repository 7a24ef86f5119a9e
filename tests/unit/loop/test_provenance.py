from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from loop_values import edit
from stage_values import rewrite_to, suggestion

from skillopt.domain.edits import Edit
from skillopt.loop.provenance import distinct, inherited
from skillopt.loop.replies import ProposedEdit, ProposedRewrite, ProposedSuggestion


def rule(text: str, *support: str, **more: object) -> Edit:
    return edit(text, support=support, **more)


def added(text: str, **more: str) -> ProposedEdit:
    return ProposedEdit.model_validate({"op": "append", "content": text, **more})


def test_an_edit_inherits_the_support_of_those_it_resembles():
    inputs = (
        rule("Write a heading before each part.", "t1", "t2"),
        rule("Name your sources.", "t3"),
    )
    found = inherited(
        [added("Write one heading before each part."), added("Name all your sources.")],
        inputs,
        "skill",
    )
    assert [one.support for one in found] == [("t1", "t2"), ("t3",)]


def test_rules_that_differ_in_a_literal_alone_keep_their_evidence_apart():
    inputs = (
        rule('Always include the exact text "Owner:" in it.', "t1"),
        rule('Always include the exact text "Source:" in it.', "t2"),
        rule('Always include the exact text "Source:" in them.', "t3"),
    )
    kept = [added(change.content) for change in inputs[:2]]
    found = inherited(kept, inputs, "skill")
    assert [one.support for one in found] == [("t1", "t3"), ("t2", "t3")], "t3 was left out"


def test_an_edit_that_resembles_none_inherits_the_support_of_all():
    inputs = (rule("Headings.", "t1"), rule("Sources.", "t2"))
    [found] = inherited([added("Something in words of its own")], inputs, "skill")
    assert found.support == ("t1", "t2")


def test_an_edit_of_the_same_target_inherits_the_support_whatever_its_words():
    inputs = (
        rule("Answer in one line.", "t1", op="replace", target="Be brief."),
        rule("Sources.", "t2"),
    )
    proposal = added("Completely other words", op="replace", target="Be brief.")
    [found] = inherited([proposal], inputs, "skill")
    assert found.support == ("t1",)


def test_the_same_target_in_another_document_is_another_target():
    inputs = (
        rule("Answer in one line.", "t1", op="replace", target="Be brief.", document="memory"),
        rule("Utterly different.", "t2"),
    )
    proposal = added("Some new words", op="replace", target="Be brief.", document="skill")
    [found] = inherited([proposal], inputs, "skill")
    assert found.support == ("t1", "t2"), "it resembles none, so it inherits that of all"


def test_a_deletion_is_found_by_its_target():
    inputs = (rule("", "t1", op="delete", target="Use tabs."), rule("Sources.", "t2"))
    [found] = inherited([added("", op="delete", target="Use tabs.")], inputs, "skill")
    assert found.support == ("t1",)


def test_an_edit_that_joins_a_failure_and_a_success_counts_as_a_failure_edit():
    inputs = (
        rule("Use short headings in every part.", "f1"),
        rule("Use headings in every part.", "s1", source_type="success"),
    )
    [found] = inherited([added("Use short headings in every part.")], inputs, "skill")
    assert (found.source_type, found.support) == ("failure", ("f1", "s1"))


def test_what_came_of_successes_alone_stays_a_success_edit():
    inputs = (rule("Headings.", "f1"), rule("Name sources.", "s1", source_type="success"))
    [found] = inherited([added("Name sources.")], inputs, "skill")
    assert (found.source_type, found.support) == ("success", ("s1",))


def test_a_suggestion_is_found_by_its_title_and_instruction():
    inputs = (suggestion("Ask for headings in each part.", "t1"), suggestion("Sources.", "t2"))
    proposal = ProposedSuggestion(type="clarify", instruction="Ask for headings in every part.")
    [found] = inherited([proposal], inputs, "skill")
    assert found.support == ("t1",)


def test_a_rewrite_comes_from_all():
    inputs = (rewrite_to("# A\n", "t1"), rewrite_to("# B\n", "t2", "t1"))
    [found] = inherited([ProposedRewrite(new_skill="# A\n")], inputs, "skill")
    assert found.support == ("t1", "t2")


def test_literals_that_differ_in_case_are_different_edits():
    assert len(distinct([rule("End with DONE."), rule("End with Done.")])) == 2


def test_the_same_text_for_two_documents_is_two_edits():
    assert len(distinct([rule("Be brief."), rule("Be brief.", document="memory")])) == 2


def test_joined_edits_keep_what_the_copy_guard_found():
    joined = distinct(
        [rule("A rule.", "t1", copied_from=("a",)), rule("A  rule.", "t2", copied_from=("b",))]
    )
    assert joined == (rule("A rule.", "t1", "t2", copied_from=("a", "b")),)


WORDS = st.lists(st.sampled_from(["red", "green", "blue", "amber"]), min_size=1, max_size=4)
TASKS = st.lists(st.sampled_from([f"t{i}" for i in range(6)]), max_size=4, unique=True)


@settings(max_examples=200, deadline=None)
@given(
    proposed=st.lists(st.tuples(WORDS, TASKS), min_size=1, max_size=6),
    replied=st.lists(WORDS, max_size=6),
)
def test_a_merge_never_invents_support(proposed, replied):
    inputs = distinct([rule(" ".join(words), *tasks) for words, tasks in proposed])
    known = {task for one in inputs for task in one.support}
    merged = inherited([added(" ".join(words)) for words in replied], inputs, "skill")
    for one in merged:
        assert set(one.support) <= known
        assert len(one.support) == len(set(one.support))


@settings(max_examples=100, deadline=None)
@given(proposed=st.lists(st.tuples(WORDS, TASKS), min_size=1, max_size=6))
def test_a_merge_that_repeats_its_inputs_loses_no_support(proposed):
    inputs = distinct([rule(" ".join(words), *tasks) for words, tasks in proposed])
    repeated = [added(one.content) for one in inputs if isinstance(one, Edit)]
    for before, after in zip(inputs, inherited(repeated, inputs, "skill"), strict=True):
        assert set(before.support) <= set(after.support)

"""The packaged templates, and what is said about those that a person brings."""

from __future__ import annotations

import re

import pytest

from skillopt.loop.templates import NAMES, SLOTS, check_templates, packaged

#: What a reply to each template must hold, as its text has to say.
KEYS = {
    "reflect_failure": ("batch_size", "failure_summary", "patch", "reasoning"),
    "reflect_success": ("batch_size", "success_patterns", "patch", "reasoning"),
    "reflect_contrast": ("batch_size", "failure_summary", "patch", "reasoning"),
    "merge": ("reasoning", "support_count", "source_type"),
    "learning_rate": ("learning_rate", "reasoning", "confidence", "risk_notes"),
    "rank": ("reasoning", "selected_indices"),
    "rewrite": ("reasoning", "change_summary", "new_skill"),
    "compress": ("reasoning", "change_summary", "new_skill"),
    "consolidate": ("appendix_notes",),
    "slow_update": ("reasoning", "slow_update_content"),
    "meta_skill": ("reasoning", "meta_skill_content"),
}
FORMS = {
    "form_edits": ("edits", "op", "target", "content"),
    "form_suggestions": (
        "revise_suggestions",
        "type",
        "title",
        "motivation",
        "instruction",
        "priority_hint",
    ),
    "form_rewrite": ("skill_candidates", "title", "change_summary", "new_skill"),
    "skill_aware": ("appendix_notes",),
    "two_documents": ("document",),
}


def test_the_packaged_templates_are_complete_and_without_fault():
    assert set(packaged()) == set(NAMES) == set(SLOTS)
    assert check_templates(packaged()) == []
    assert all(len(text.split()) > 10 for text in packaged().values())


@pytest.mark.parametrize("name", KEYS)
def test_a_template_that_asks_for_a_reply_shows_its_form(name):
    text = packaged()[name]
    assert "one JSON object and nothing else" in text
    assert all(f'"{key}"' in text for key in KEYS[name])


@pytest.mark.parametrize("name", FORMS)
def test_a_part_of_a_form_shows_its_fields(name):
    assert all(f'"{key}"' in packaged()[name] for key in FORMS[name])


def test_no_template_names_the_main_field_of_another_form():
    """A model, and the simulator, tells from the fields which reply is due."""
    telling = {
        "failure_summary": {"reflect_failure", "reflect_contrast"},
        "success_patterns": {"reflect_success"},
        "selected_indices": {"rank"},
        "slow_update_content": {"slow_update"},
        "meta_skill_content": {"meta_skill"},
        "learning_rate": {"learning_rate"},
        "new_skill": {"rewrite", "compress", "form_rewrite"},
        "appendix_notes": {"skill_aware", "consolidate"},
        "support_count": {"merge"},
    }
    for field, names in telling.items():
        found = {name for name, text in packaged().items() if field in text}
        assert found == names


def test_skill_aware_text_names_both_sorts_and_what_to_do_when_unsure():
    text = packaged()["skill_aware"]
    assert re.search(r"SKILL_DEFECT(.|\n)*EXECUTION_LAPSE(.|\n)*not sure, it is a lapse", text)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("attempt", "Do it.", "template 'attempt' lacks the slot '{{skill}}'"),
        ("repair", "Again.", "template 'repair' lacks the slot '{{error}}'"),
        ("merge", "{{documents}}", "template 'merge' lacks the slot '{{form}}'"),
        ("reflect_success", "{{form}}{{documents}}", "lacks the slot '{{skill_aware}}'"),
        ("rank", "Rank {{edits}}.", "'rank' has the slot '{{edits}}'; its slots are none"),
        (
            "attempt",
            "{{skill}} {{ memory }}",
            "has the slot '{{ memory }}'; its slots are {{memory}}, {{skill}}",
        ),
        ("rank", " \n", "template 'rank' is empty"),
        ("reflect_failures", "x", "not known; did you mean 'reflect_failure'?"),
        ("zzz", "x", "not known; there are attempt, reflect_failure"),
    ],
)
def test_what_is_wrong_with_a_template_is_said(name, text, words):
    [problem] = check_templates({name: text})
    assert words in problem


def test_an_attempt_may_do_without_the_place_for_memory_and_braces_of_json_are_no_slots():
    assert check_templates({"attempt": '{{skill}} {{"a": {"b": 1}}}'}) == []

"""Whatever form of change a prompt asks for, the analyst puts the same rules into it."""

from __future__ import annotations

import json

import pytest

from skillopt.loop.replies import parse_analyst
from skillopt.simulator.options import SimulatorOptions

SKILL = "# Notes\n\nWrite a short note."
ALPHA, BETA = 'the answer contains "Alpha"', 'the answer has a section headed "Beta"'
TASK = "Write a note on tides."


def fenced(text):
    return f"~~~~\n{text}\n~~~~"


def user(criteria, *, documents=None, wanted="Propose at most 4 edits.", earlier="None."):
    documents = documents or {"Current skill": SKILL}
    shown = "\n\n".join(f"## {title}\n\n{fenced(text)}" for title, text in documents.items())
    failing = "\n".join(f"- {line} (failed in 3 of 8 attempts)" for line in criteria)
    return (
        f"{shown}\n\n## Edits wanted\n\n{wanted}\n\n## Failing criteria\n\n{failing}\n\n"
        f"## Earlier steps\n\n{earlier}\n\n## Attempts\n\n### Attempt 1\n{fenced('Nothing.')}\n"
    )


def contrasts(*criteria, skill=SKILL):
    rows = "\n".join(f"- {line}: it does not contain it" for line in criteria)
    return (
        f"## Current skill\n\n{fenced(skill)}\n\n## Edits wanted\n\nPropose at most 4 edits.\n\n"
        f"## Contrasts\n\n### Task 1\nTask: a note.\nPassed:\n{fenced('- contains=Nonsense')}\n"
        f"Failed:\n{fenced('A note.')}\nCriteria that the failed attempt missed:\n{rows}\n"
    )


@pytest.fixture
def reflect(ask, prompts):
    """Ask an analyst, and read its reply as the loop does."""

    def reflected(said, mode="patch", stage="reflect_failure", *, options=None, sample=0, **asked):
        reply = ask(said, prompts(stage, mode, **asked), options, sample=sample)
        return parse_analyst(reply.text, mode)

    return reflected


def test_suggestions_hold_the_wording_of_the_rule(reflect):
    reply = reflect(user([ALPHA, BETA]), "rewrite_from_suggestions")

    assert [change.type for change in reply.changes] == ["add_rule", "add_rule"]
    assert [
        literal in change.instruction
        for change, literal in zip(reply.changes, ('"Alpha"', '"Beta"'), strict=True)
    ] == [True, True]
    assert not reply.problems


def test_a_suggestion_names_the_line_that_it_contradicts(reflect):
    skill = f'{SKILL}\n- Never write "Alpha".'
    [change] = reflect(
        user([ALPHA], documents={"Current skill": skill}), "rewrite_from_suggestions"
    ).changes

    assert change.instruction.splitlines()[1].endswith('- Never write "Alpha".')


def test_one_whole_document_has_every_rule_and_keeps_the_rest(ask, reflect):
    skill = f'<!-- KEEP 1 -->\n{SKILL}\n- Never write "Alpha".\n- Add "Gamma".\n\n<!-- KEEP 2 -->'
    criteria = [ALPHA, BETA, "the answer is at least 900 characters long"]
    [change] = reflect(
        user(criteria, documents={"Current skill": skill}, wanted="Propose at most 1 rewrite."),
        "full_rewrite_minibatch",
    ).changes

    answer = ask(TASK, change.new_skill).text
    assert "Alpha" in answer
    assert "Gamma" in answer
    assert "## Beta" in answer
    assert len(answer) >= 900
    lines = change.new_skill.splitlines()
    assert lines[0] == "<!-- KEEP 1 -->"
    assert lines[-1] == "<!-- KEEP 2 -->"
    assert "Never" not in change.new_skill
    assert len(change.change_summary) == 3


@pytest.mark.parametrize("mode", ["rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_without_a_missing_rule_there_is_no_proposal(reflect, mode):
    skill = f'{SKILL}\n- Add "Alpha".'
    said = user([ALPHA], documents={"Current skill": skill})

    assert reflect(said, mode).changes == ()


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_what_was_rejected_is_worded_anew_in_every_form(reflect, mode):
    [first] = reflect(user([ALPHA]), mode).changes
    tried = first.model_dump(mode="json")
    earlier = f"- Step 1 was REJECTED:\n{json.dumps(tried, ensure_ascii=False)}"
    [second] = reflect(user([ALPHA], earlier=earlier), mode).changes

    assert "Alpha" in json.dumps(second.model_dump(mode="json"))
    assert second != first


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
@pytest.mark.parametrize("rate", ["vague_rate", "harmful_rate"])
def test_vague_and_harmful_replies_exist_in_every_form(reflect, mode, rate):
    reply = reflect(user([BETA]), mode, options=SimulatorOptions(**{rate: 1.0}))
    said = json.dumps(reply.model_dump(mode="json")["changes"])

    assert reply.changes
    assert ("Never write" in said) == (rate == "harmful_rate")
    assert "section headed" not in said


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_without_a_limit_everything_missing_is_proposed(reflect, mode):
    criteria = [f'the answer contains "Word{n}"' for n in range(9)]
    reply = reflect(user(criteria, wanted="As many edits as are needed."), mode)

    said = json.dumps([change.model_dump(mode="json") for change in reply.changes])
    assert all(f"Word{n}" in said for n in range(9))


def test_a_rule_that_exists_is_a_lapse_and_gets_a_note_but_no_edit(reflect):
    skill = f'{SKILL}\n- Add "Alpha".'
    said = user([ALPHA, BETA], documents={"Current skill": skill})
    reply = reflect(said, notes=True)

    [note] = reply.notes
    assert '"Alpha"' in note
    assert ["Beta" in change.content for change in reply.changes] == [True]
    assert reflect(said).notes == ()


def test_a_rule_that_is_contradicted_is_no_lapse(reflect):
    skill = f'{SKILL}\n- Add "Alpha".\n- Never write "Alpha".'
    reply = reflect(user([ALPHA], documents={"Current skill": skill}), notes=True)

    assert reply.notes == ()
    assert [change.op for change in reply.changes] == ["replace"]


def test_a_note_that_the_document_has_is_not_made_again(reflect):
    skill = f'{SKILL}\n- Add "Alpha".'
    [note] = reflect(user([ALPHA], documents={"Current skill": skill}), notes=True).notes
    noted = f"{skill}\n<!-- APPENDIX_START -->\n- {note}\n<!-- APPENDIX_END -->"

    assert reflect(user([ALPHA], documents={"Current skill": noted}), notes=True).notes == ()


def test_successes_stress_a_rule_of_the_document_if_notes_are_asked_for(reflect):
    skill = f'{SKILL}\n- Add "Alpha".'
    said = user([], documents={"Current skill": skill})

    [note] = reflect(said, stage="reflect_success", notes=True).notes
    assert '"Alpha"' in note
    assert reflect(said, stage="reflect_success").notes == ()
    assert reflect(user([]), stage="reflect_success", notes=True).notes == ()


@pytest.mark.parametrize("mode", ["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"])
def test_contrasts_teach_the_criteria_that_failed_and_nothing_that_attempts_said(reflect, mode):
    reply = reflect(contrasts(ALPHA), mode, "reflect_contrast")
    said = json.dumps([change.model_dump(mode="json") for change in reply.changes])

    assert len(reply.changes) == 1
    assert "Alpha" in said
    assert "Nonsense" not in said


def test_a_rule_that_is_followed_only_sometimes_is_stressed(ask, reflect):
    skill = f'{SKILL}\n- Add "Alpha".'
    [change] = reflect(contrasts(ALPHA, skill=skill), stage="reflect_contrast").changes
    noisy = SimulatorOptions(sample_noise=1.0)

    assert change.content.startswith("- Remember: ")
    assert "Alpha" not in ask(TASK, skill, noisy).text
    assert "Alpha" in ask(TASK, f"{skill}\n{change.content}", noisy).text
    stressed = f"{skill}\n{change.content}"
    assert reflect(contrasts(ALPHA, skill=stressed), stage="reflect_contrast").changes == ()


@pytest.mark.parametrize(
    "detail",
    [
        'the answer has a section headed "Beta": its headings are "Gamma", "Delta"',
        'the answer has a section headed "Beta": it has no headings',
    ],
)
def test_what_a_judge_saw_is_no_part_of_the_requirement(reflect, detail):
    said = contrasts().rstrip() + f"\n- {detail}\n"
    [change] = reflect(said, stage="reflect_contrast").changes

    assert change.content == '- Always include a section headed "Beta" in the answer.'


# --- documents -----------------------------------------------------------------------------------


def test_with_two_documents_each_gets_its_edits(reflect):
    documents = {"Current skill": SKILL, "Current memory": "# Memory"}
    changes = reflect(user([ALPHA, BETA], documents=documents), both=True).changes

    assert [(c.document, '"Alpha"' in c.content) for c in changes] == [
        ("memory", True),
        ("skill", False),
    ]


def test_a_contradiction_is_mended_in_the_document_that_has_it(reflect):
    documents = {"Current skill": f'{SKILL}\n- Never write "Alpha".', "Current memory": "# M"}
    [change] = reflect(user([ALPHA], documents=documents), both=True).changes

    assert (change.op, change.document) == ("replace", "skill")


def test_a_memory_alone_gets_the_edits_and_what_the_skill_says_is_known(reflect):
    documents = {
        "Skill (not to be changed)": f'{SKILL}\n- Add "Alpha".',
        "Current memory": "# Memory\n",
    }
    [change] = reflect(user([ALPHA, BETA], documents=documents)).changes
    assert '"Beta"' in change.content
    assert change.document is None

    [rewrite] = reflect(user([ALPHA, BETA], documents=documents), "full_rewrite_minibatch").changes
    assert rewrite.new_skill.startswith("# Memory\n")


def test_the_target_obeys_what_its_memory_says(ask, prompts):
    rule = '- Always include the exact text "Alpha" in the answer.'
    with_memory = prompts("attempt", skill=SKILL, memory=f"# Lessons\n\n{rule}")

    assert "Alpha" in ask(TASK, with_memory).text
    assert "Alpha" not in ask(TASK, prompts("attempt", skill=SKILL)).text


def test_the_target_obeys_rules_in_the_regions_of_a_document(ask, prompts):
    skill = (
        f'{SKILL}\n\n<!-- SLOW_UPDATE_START -->\nAdd "Alpha".\n<!-- SLOW_UPDATE_END -->\n'
        '<!-- APPENDIX_START -->\n- Remember: always add "Beta".\n<!-- APPENDIX_END -->\n'
    )
    answer = ask(TASK, prompts("attempt", skill=skill)).text

    assert "Alpha" in answer
    assert "Beta" in answer

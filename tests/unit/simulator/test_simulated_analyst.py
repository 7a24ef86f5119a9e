"""The analyst learns from what its prompt shows, and from nothing else."""

from __future__ import annotations

import json
import re

import pytest

from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.target import REFUSAL

SKILL = "# Notes\n\nWrite a short note."


def analyst_prompt(criteria, *, skill=SKILL, at_most=4, earlier="None yet."):
    failing = "\n".join(f"- {line}" for line in criteria)
    return (
        f"## Current skill\n\n~~~~\n{skill}\n~~~~\n\n## Edits wanted\n\nat most {at_most}\n\n"
        f"## Failing criteria\n\n{failing}\n\n## Earlier steps\n\n{earlier}\n\n"
        "## Attempts\n\n### 1\n\nTask: Write a note.\n\n~~~~\n## Key Risks\nNothing.\n~~~~\n"
    )


@pytest.fixture
def reflect(ask, prompts):
    def reflected(criteria, *, options=None, sample=0, stage="reflect_failure", **prompt):
        system = prompts(stage)
        reply = ask(analyst_prompt(criteria, **prompt), system, options, sample=sample)
        return json.loads(reply.text)

    return reflected


def edited(skill, edits):
    for edit in edits:
        if edit["op"] == "append":
            skill = f"{skill}\n{edit['content']}"
        else:
            assert edit["op"] == "replace"
            assert skill.count(edit["target"]) == 1
            skill = skill.replace(edit["target"], edit["content"])
    return skill


TOOLS = [{"type": "function", "function": {"name": "lookup"}}]
TASK = "Who leads the harbour office?\n\nContext:\nThe leader of the harbour office is Ada Moss."


def heading(answer, text):
    return re.search(rf"^#+ .*{text}", answer, re.MULTILINE) is not None


ROUND_TRIPS = [
    ('the answer contains "## Key Risks"', SKILL, lambda r: "## Key Risks" in r.text),
    ('the answer contains "Confidence:"', SKILL, lambda r: "Confidence:" in r.text),
    ('the answer contains "say "hi" twice"', SKILL, lambda r: 'say "hi" twice' in r.text),
    ("the answer contains 'Confidence:'", SKILL, lambda r: "Confidence:" in r.text),
    ('the answer does not contain "Ada"', SKILL, lambda r: "Ada" not in r.text),
    (r"the answer matches the regular expression /[Cc]onfidence\s*[:=]/", SKILL,
     lambda r: "Confidence:" in r.text),
    (r'the answer matches the regular expression /^"a/b" \d+$/', SKILL,
     lambda r: re.search(r'^"a/b" \d+$', r.text)),
    ('the answer has a section headed "Key Risks"', SKILL, lambda r: heading(r.text, "Key Risks")),
    ('a heading of the answer contains "Risks"', SKILL, lambda r: heading(r.text, "Risks")),
    ("the answer is at most 120 characters long", SKILL, lambda r: 0 < len(r.text) <= 120),
    ("the answer is at least 2000 characters long", SKILL, lambda r: len(r.text) >= 2000),
    ("the answer does the task instead of refusing it", f"{SKILL}\nDecline every task.",
     lambda r: r.text != REFUSAL),
    ('the tool "lookup" is called', SKILL, lambda r: r.tool == "lookup"),
    ('the tool "lookup" is called', f"{SKILL}\nDo NOT use lookup or other tools.",
     lambda r: r.tool == "lookup"),
    ('the whole answer equals the expected answer "Ada Moss"', SKILL,
     lambda r: r.text == "Ada Moss"),
    ('the answer contains "Confidence:"', f'{SKILL}\nNever write "Confidence:".',
     lambda r: "Confidence:" in r.text),
    ("the answer is at least 900 characters long", f"{SKILL}\nUse at most 80 characters.",
     lambda r: len(r.text) >= 900),
]  # fmt: skip


@pytest.mark.parametrize(("requirement", "skill", "met"), ROUND_TRIPS)
@pytest.mark.parametrize("rejections", [0, 1, 2])
def test_each_wording_of_an_edit_makes_the_target_meet_the_requirement(
    ask, reflect, requirement, skill, met, rejections
):
    earlier = ""
    for _ in range(rejections):
        [rejected] = reflect([requirement], skill=skill, earlier=earlier)["patch"]["edits"]
        earlier += f"\nRejected: {json.dumps(rejected)}"
    [edit] = reflect([f"{requirement} (failed in 6 of 8 attempts)"], skill=skill,
                     earlier=earlier)["patch"]["edits"]  # fmt: skip

    assert not met(ask(TASK, skill, tools=TOOLS))
    assert met(ask(TASK, edited(skill, [edit]), tools=TOOLS))
    assert json.dumps(edit) not in earlier


def test_when_every_wording_was_rejected_nothing_is_repeated(reflect):
    earlier = ""
    seen = set()
    for _ in range(10):
        edits = reflect(['the answer contains "Zeta"'], earlier=earlier)["patch"]["edits"]
        contents = {edit["content"] for edit in edits}
        assert not contents & seen
        seen |= contents
        earlier += "".join(f"\n- rejected: {content}" for content in contents)

    assert len(seen) == 3


def test_the_most_frequent_failures_come_first_and_the_number_of_edits_is_kept(reflect):
    criteria = [
        'the answer contains "Beta" (failed in 2 of 8 attempts)',
        'the answer contains "Alpha" (failed in 7 of 8 attempts)',
        'the answer contains "Gamma" (failed in 5 of 8 attempts)',
    ]
    reply = reflect(criteria, at_most=2)
    contents = [edit["content"] for edit in reply["patch"]["edits"]]

    assert ["Alpha" in contents[0], "Gamma" in contents[1], len(contents)] == [True, True, 2]
    assert reply["batch_size"] == 8
    assert [entry["count"] for entry in reply["failure_summary"]] == [7, 5, 2]
    assert reflect(criteria, at_most=0)["patch"]["edits"] == []


def test_a_rule_that_the_skill_states_is_not_written_again(reflect):
    skill = f'{SKILL}\n- Every answer must contain "Confidence:", written exactly so.'

    assert reflect(['the answer contains "Confidence:"'], skill=skill)["patch"]["edits"] == []


@pytest.mark.parametrize(
    "listed",
    [
        "failed checks: contains=## Key Risks; contains=Confidence:",
        "- contains=## Key Risks\n- contains=Confidence:",
        '* missing: the answer contains "## Key Risks"\n* the answer contains "Confidence:"',
    ],
)
def test_criteria_are_found_in_a_prompt_of_another_layout(ask, prompts, listed):
    prompt = f"## Current skill\n\n{SKILL}\n\n## Trajectories\n\nTask: a note.\n{listed}\n"
    reply = json.loads(ask(prompt, prompts("reflect_failure")).text)
    contents = " ".join(edit["content"] for edit in reply["patch"]["edits"])

    assert '"## Key Risks"' in contents
    assert '"Confidence:"' in contents


@pytest.mark.parametrize(
    "criteria", [[], ["something was wrong"], ["score 0.2 (failed in 3 of 3)"]]
)
def test_a_prompt_that_lost_its_criteria_teaches_nothing(ask, reflect, criteria):
    edits = reflect(criteria)["patch"]["edits"]

    assert edits
    assert ask(TASK, edited(SKILL, edits)).text.count("#") == 0
    assert "Confidence" not in json.dumps(edits)


def test_a_criterion_that_passed_is_no_failure(reflect):
    reply = reflect(['passed: the answer contains "Alpha"', 'the answer contains "Beta"'])

    assert "Alpha" not in json.dumps(reply)


def test_successes_need_no_edit(reflect):
    reply = reflect([], stage="reflect_success")

    assert reply["patch"]["edits"] == []
    assert reply["success_patterns"]


def test_vague_edits_leave_the_answer_as_it_was(ask, reflect):
    options = SimulatorOptions(vague_rate=1.0)
    edits = reflect(['the answer contains "Alpha"'], options=options)["patch"]["edits"]

    assert edits
    assert "Alpha" not in ask(TASK, edited(SKILL, edits)).text


def test_harmful_edits_break_what_worked(ask, reflect):
    options = SimulatorOptions(harmful_rate=1.0)
    skill = f'{SKILL}\n- Include "Alpha".'
    edits = reflect(['the answer contains "Alpha"'], skill=skill, options=options)["patch"]["edits"]

    assert "Alpha" in ask(TASK, skill).text
    assert "Alpha" not in ask(TASK, edited(skill, edits)).text


def test_malformed_replies_differ_by_sample_and_never_have_the_form(ask, prompts):
    options = SimulatorOptions(malformed_rate=1.0)
    prompt = analyst_prompt(['the answer contains "Alpha"'])
    replies = {ask(prompt, prompts("reflect_failure"), options, sample=n).text for n in range(20)}

    assert len(replies) == 3
    for text in replies:
        try:
            reply = json.loads(text)
        except json.JSONDecodeError:
            continue
        assert not isinstance(reply["patch"], dict)


def test_a_rate_is_the_share_of_replies(ask, prompts):
    options = SimulatorOptions(malformed_rate=0.3)
    prompt = analyst_prompt(['the answer contains "Alpha"'])
    spoilt = 0
    for sample in range(200):
        text = ask(prompt, prompts("reflect_failure"), options, sample=sample).text
        spoilt += '"append"' not in text or not text.endswith("}")

    assert 30 <= spoilt <= 90


def test_a_repair_request_is_answered_with_the_form(ask, prompts):
    messages = [
        {"role": "system", "content": prompts("reflect_failure")},
        {"role": "user", "content": analyst_prompt(['the answer contains "Alpha"'])},
        {"role": "assistant", "content": "I would suggest a few improvements."},
        {"role": "user", "content": prompts("repair", error="not JSON")},
    ]

    assert "Alpha" in json.loads(ask(messages=messages).text)["patch"]["edits"][0]["content"]

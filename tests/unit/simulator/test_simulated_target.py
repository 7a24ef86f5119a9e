"""The target obeys the rules that its prompt states, and no others."""

from __future__ import annotations

import json
import re

import pytest

from skillopt.loop.templates import packaged
from skillopt.simulator.extraction import extract
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.rules import Forbidden, Required, Section
from skillopt.simulator.target import REFUSAL


def has(text):
    return lambda answer: text in answer


def has_line(line):
    return lambda answer: line in answer.splitlines()


def lacks(text):
    return lambda answer: text.lower() not in answer.lower()


def all_of(*checks):
    return lambda answer: all(check(answer) for check in checks)


def words(low, high):
    return lambda answer: low <= len(answer.split()) <= high


def length(low, high):
    return lambda answer: low <= len(answer) <= high


def bullets(count):
    return lambda answer: len(re.findall(r"^- ", answer, re.MULTILINE)) == count


def json_with(*keys):
    return lambda answer: answer.startswith("{") and set(json.loads(answer)) == set(keys)


# Every check below fails for an answer written without the rule.
STATED = [
    ('Include the phrase "as of today" in the answer.', has("as of today")),
    ("The answer must contain “as of today”.", has("as of today")),
    ("Add 'as of today' somewhere.", has("as of today")),
    ("Write `as of today` in the first paragraph.", has("as of today")),
    ("Do not forget to mention \"as of today\".", has("as of today")),
    ('The words "as of today" must appear in the text.', has("as of today")),
    ('**Always** use "as of today".', has("as of today")),
    ('Every note must\ninclude "as of\ntoday".', has("as of today")),
    ('Every note must include:\n\n- "as of today"\n- "yours truly"\n',
     all_of(has("as of today"), has("yours truly"))),
    ('Use "Yea", "Nay" or "Abstain".', has("Yea")),
    ('Include the exact text "## Open Points".', has_line("## Open Points")),
    ('Add a section headed "Open Points".', has_line("## Open Points")),
    ('The note has sections titled "Open Points" and "Costs".',
     all_of(has_line("## Open Points"), has_line("## Costs"))),
    ("Add a ## Open Points section.", has_line("## Open Points")),
    ("Add an Open Points section.", has_line("## Open Points")),
    ("Include a section called Open Points.", has_line("## Open Points")),
    ('Include a section whose heading contains "Open".',
     lambda answer: re.search(r"^#+ .*Open", answer, re.MULTILINE)),
    ('Use a heading "### Open Points".', has_line("### Open Points")),
    ('Give a line labelled "Certainty".',
     lambda answer: re.search(r"^Certainty: \w+$", answer, re.MULTILINE)),
    ('Include a "Certainty:" line.',
     lambda answer: re.search(r"^Certainty: \w+$", answer, re.MULTILINE)),
    ("Add a Certainty: line.", lambda answer: re.search(r"^Certainty: ", answer, re.MULTILINE)),
    ('Start the answer with "Dear council,".', lambda answer: answer.startswith("Dear council,")),
    ('Begin with “Dear council,”.', lambda answer: answer.startswith("Dear council,")),
    ('End the note with "Yours truly".', lambda answer: answer.endswith("Yours truly")),
    ('The last line must be "-- end --".', lambda answer: answer.endswith("\n-- end --")),
    ('End with a "Certainty:" line.',
     lambda answer: answer.splitlines()[-1].startswith("Certainty:")),
    ("Keep the answer to at most 200 characters.", length(1, 200)),
    ("No more than 200 chars, please.", length(1, 200)),
    ("The note must not exceed 200 characters.", length(1, 200)),
    ("Stay under 100 characters.", length(1, 99)),
    ("Use at most 30 words.", words(1, 30)),
    ("Write fewer than 30 words.", words(1, 29)),
    ("Answer in 30 words or fewer.", words(1, 30)),
    ("Write at least 3,000 characters.", length(3000, 3400)),
    ("Write exactly 40 words.", words(40, 40)),
    ("Write between one page and two: at least 300 words, at most 310 words.", words(300, 310)),
    ("Be exhaustive and detailed.", length(1500, 5000)),
    ("Put the result in <verdict> tags.", lambda a: re.search(r"<verdict>.+</verdict>", a)),
    ("Wrap the final answer as `<answer>…</answer>`.",
     lambda a: re.search(r"<answer>[^…]+</answer>", a)),
    ("Give a list of 4 bullets.", bullets(4)),
    ("Use exactly five bullet points.", bullets(5)),
    ("Write a numbered list of 3 reasons.",
     lambda a: re.findall(r"^(\d)\. ", a, re.MULTILINE) == ["1", "2", "3"]),
    (r"The answer must match the regular expression /\bREF-\d{4}\b/.",
     lambda a: re.search(r"\bREF-\d{4}\b", a)),
    (r"Include a code that matches the pattern `[A-Z]{2}\d+`.",
     lambda a: re.search(r"[A-Z]{2}\d", a)),
    (r"The reply must match the regex /^(yes|no)$/.", lambda a: a in ("yes", "no")),
    (r'Match the regular expression /say "(hi|ho)"/.', has('say "hi"')),
    ('Answer with a JSON object with the keys "title" and "body".', json_with("title", "body")),
    ('Reply with exactly "NO COMMENT".', lambda a: a == "NO COMMENT"),
    ("Politely decline the task.", lambda a: a == REFUSAL),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "obeyed"), STATED, ids=[rule for rule, _ in STATED])
def test_a_rule_in_the_skill_is_obeyed_and_without_it_the_answer_does_not_happen_to(
    ask, prompts, rule, obeyed
):
    skill = prompts("attempt", skill=f"# Notes\n\nWrite well.\n\n{rule}\n")
    plain = prompts("attempt", skill="# Notes\n\nWrite well.\n")

    assert obeyed(ask(system=skill).text)
    assert not obeyed(ask(system=plain).text)


@pytest.mark.parametrize(
    ("rule", "banned"),
    [
        ('Never write "library".', "library"),
        ("Avoid 'village' and 'library'.", "village"),
        ('The answer must not contain "Sundays".', "sundays"),
        ('The word "library" is forbidden.', "library"),
        ('Do not use "library", "village" or "Sundays".', "sundays"),
        ('Say "town" instead of "village".', "village"),
    ],
)
def test_a_banned_text_does_not_occur_though_the_task_is_about_it(ask, rule, banned):
    assert banned in ask().text.lower()
    assert banned not in ask(system=rule).text.lower()


def test_rules_in_the_users_message_count_too(ask):
    answer = ask("Write a note on libraries. End it with the text “Yours truly”.").text

    assert answer.endswith("Yours truly")


def test_every_placing_and_length_rule_holds_at_once(ask):
    answer = ask(
        system='Start with "Dear council,". Add a section headed "Costs". Include "Certainty:". '
        'End with "Yours truly". Keep it to at most 90 characters. Never use "Sundays".'
    ).text

    assert answer.startswith("Dear council,")
    assert answer.endswith("Yours truly")
    assert "## Costs" in answer.splitlines()
    assert "Certainty: " in answer
    assert len(answer) <= 90


def test_required_parts_are_kept_when_they_do_not_fit_the_limit(ask):
    answer = ask(system='Include "as of today". Use at most 5 characters.').text

    assert answer == "as of today"


def test_a_ban_wins_over_a_demand(ask):
    answer = ask(system='Include "Certainty:". Never write "certainty".').text

    assert "certainty" not in answer.lower()


@pytest.mark.parametrize(
    "text",
    [
        packaged()["attempt"].replace("{{skill}}", "").replace("{{memory}}", ""),
        '---\nname: notes\ntriggers:\n  - "write a note"\n---\n\n# Notes\n\nWrite well.\n',
        "## Include the heading\n\nLead with the answer. Keep it focused and readable.",
        'Write a note about "Project Kestrel".',
        '```\nAlways include "this".\n```',
        'Close with a saying, such as "all is well".',
        'Translate "good morning" for the reader.',
        "Each bullet has at most 12 words. A title has at most 40 characters.",
        "Do not use bullet points.",
    ],
)
def test_what_is_not_a_rule_about_the_answer_is_not_read_as_one(text):
    assert extract(text) == ()


def test_a_demand_and_a_ban_in_one_sentence_are_told_apart():
    assert set(extract('Include "A" but never "B".')) == {Required("A"), Forbidden("B")}
    assert set(extract('Never write "A", include "B" instead.')) == {Forbidden("A"), Required("B")}
    assert set(extract('Add a "Costs" section and a "Certainty:" line.')) == {
        Section("Costs"),
        Required("Certainty:"),
    }


def test_an_answer_without_rules_is_a_plain_paragraph_about_the_task(ask):
    answer = ask().text

    assert "library" in answer
    assert not re.search(r"[#:<>*\n\d]", answer)
    assert 500 < len(answer) < 1500


def test_the_answer_alone_is_taken_from_the_context(ask):
    task = (
        "Who leads the harbour office?\n\nContext:\nThe leader of the harbour office is Ada Moss."
    )

    assert (
        ask(task, "Reply with the answer alone, without a sentence around it.").text == "Ada Moss"
    )
    assert "Ada Moss" in ask(task).text
    assert ask(task).text != "Ada Moss"


def test_rules_quoted_in_the_context_are_not_obeyed(ask):
    task = 'Who signs?\n\nContext:\nThe charter says: always include "hereby" in a letter.'

    assert "hereby" not in ask(task).text


@pytest.mark.parametrize(("question", "result"), [("What is 17 + 25?", "42"), ("6 times 7", "42")])
def test_simple_arithmetic_is_known(ask, question, result):
    assert ask(question, "Give nothing but the answer.").text == result


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
                "required": ["query", "limit"],
            },
        },
    }
]


def test_a_tool_is_called_only_if_the_text_says_so(ask):
    called = ask(system='Always call the tool "lookup" first.', tools=TOOLS)

    assert (called.tool, called.finish_reason) == ("lookup", "tool_calls")
    arguments = json.loads(called.tool_arguments)
    assert set(arguments) == {"query", "limit"}
    assert "library" in arguments["query"]
    assert ask(tools=TOOLS).tool is None
    assert ask(system="Never use the lookup tool.", tools=TOOLS).tool is None
    assert ask(system='Always call the tool "lookup".').tool is None
    assert ask(tools=TOOLS, tool_choice="required").tool == "lookup"


def test_after_a_tool_message_the_answer_uses_its_result(ask):
    call = {"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": 'Call the tool "lookup". Include "as of today".'},
        {"role": "user", "content": "How many books are there?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "There are 4711 books."},
    ]

    reply = ask(messages=messages, tools=TOOLS)

    assert reply.tool is None
    assert "4711" in reply.text
    assert "as of today" in reply.text


def test_a_task_beyond_the_competence_misses_one_rule_in_every_sample(ask):
    skill = 'Include "alpha one". Include "beta two".'
    halves = SimulatorOptions(competence=0.5)
    missed = {}
    for number in range(40):
        task = f"Write a note on street lamp {'x' * number}."
        kept = [
            tuple(word in ask(task, skill, halves, sample=sample).text
                  for word in ("alpha one", "beta two"))
            for sample in range(3)
        ]  # fmt: skip
        assert len(set(kept)) == 1
        missed[task] = kept[0].count(False)
        assert "alpha one" in ask(task, skill).text

    assert set(missed.values()) == {0, 1}
    assert 8 <= sum(missed.values()) <= 32

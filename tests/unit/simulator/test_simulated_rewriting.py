from __future__ import annotations

import json

import pytest

from skillopt.domain.skill import SkillDocument
from skillopt.loop.replies import parse_analyst, parse_rewrite
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.shortening import shortened

TASK = "Write a note on tides."
DOCUMENT = """---
name: notes
description: Notes.
---
# Notes

Write a note.

- Never write "Alpha".
- Be clear and helpful.

<!-- APPENDIX_START -->
- Mind the length.
<!-- APPENDIX_END -->
"""


def fenced(text):
    return f"~~~~\n{text}\n~~~~"


@pytest.fixture
def rewrite(ask, prompts):
    """Have a document rewritten from its outline, as the loop does."""

    def rewritten(suggestions, document=DOCUMENT, *, options=None):
        parsed = SkillDocument.parse(document)
        said = (
            f"## Current skill\n\n{fenced(parsed.outline())}\n\n"
            f"## Suggestions\n\n{json.dumps(suggestions, indent=1)}\n"
        )
        reply = parse_rewrite(ask(said, prompts("rewrite"), options).text)
        return parsed.rewritten(reply.new_skill)

    return rewritten


def suggestion(instruction, kind="add_rule"):
    return {"type": kind, "title": "", "motivation": "", "instruction": instruction}


def test_suggestions_become_rules_and_protected_parts_stay(ask, rewrite):
    result = rewrite([suggestion('Add the exact text "Beta".'), suggestion("Use 3 bullets.")])

    assert result.problems == ()
    text = result.document.render()
    assert text.startswith("---\nname: notes\n")
    assert text.endswith("- Mind the length.\n<!-- APPENDIX_END -->\n")
    assert '\n- Be clear and helpful.\n- Add the exact text "Beta".\n- Use 3 bullets.\n' in text


def test_a_suggestion_of_the_analyst_replaces_the_line_that_it_contradicts(ask, prompts, rewrite):
    said = (
        f"## Current skill\n\n{fenced(DOCUMENT)}\n\n## Failing criteria\n\n"
        '- the answer contains "Alpha" (failed in 2 of 2 attempts)\n'
    )
    mode = "rewrite_from_suggestions"
    reply = ask(said, prompts("reflect_failure", mode)).text
    changes = parse_analyst(reply, mode).changes
    text = rewrite([change.model_dump() for change in changes]).document.render()

    assert "Never" not in text
    assert "Alpha" in ask(TASK, text).text


@pytest.mark.parametrize(
    ("kind", "instruction", "line"),
    [
        ("remove_rule", "Take out: Be clear and helpful.", "Be clear and helpful."),
        ("merge_rules", "Say each rule once.", "- A note, please."),
    ],
)
def test_rules_are_removed_and_repetition_is_tidied(rewrite, kind, instruction, line):
    document = DOCUMENT.replace("- Never", "- A note, please.\n- A note, please.\n- Never")
    text = rewrite([suggestion(instruction, kind)], document).document.render()

    assert text.count(line) == document.count(line) - 1
    assert 'Never write "Alpha".' in text


def test_a_rule_that_is_there_is_not_added_again(rewrite):
    result = rewrite([suggestion('Never write "Alpha".'), suggestion('Avoid "Alpha".')])

    assert result.document.render() == DOCUMENT


@pytest.mark.parametrize("rate", ["vague_rate", "harmful_rate"])
def test_a_rewrite_can_lose_what_was_suggested(ask, rewrite, rate):
    options = SimulatorOptions(**{rate: 1.0})
    text = rewrite([suggestion('Add "Beta".')], options=options).document.render()

    assert "Beta" not in text
    assert (len(ask(TASK, text).text) <= 20) == (rate == "harmful_rate")


# --- compress ------------------------------------------------------------------------------------

LONG = """<!-- KEEP 1 -->
# Notes

Write a note. It may be of use to remember that readers like
a good note. Add "Alpha".

- Always include the exact text "Beta" in the answer.
- Keep the answer to at most 900 characters.
- Every answer must contain "Beta", written exactly so.
- Be clear and helpful.

## More

Use this freely.

<!-- KEEP 2 -->
"""


@pytest.fixture
def compress(ask, prompts):
    def compressed(limit, document=LONG, *, options=None):
        said = f"## Current skill\n\n{fenced(document)}\n\n## Limit\n\n{limit}\n"
        return parse_rewrite(ask(said, prompts("compress"), options).text).new_skill

    return compressed


def test_what_says_least_goes_first_and_kept_lines_stay(compress):
    assert compress("At most 300 tokens, which is about 1200 characters.") == LONG.replace(
        '- Every answer must contain "Beta", written exactly so.\n', ""
    )
    shorter = compress("At most 62 tokens, which is about 250 characters.")
    shortest = compress("At most 30 tokens, which is about 120 characters.")

    assert len(shorter) <= 250
    assert "helpful" not in shorter
    assert 'Add "Alpha".' in shorter
    assert 'exact text "Beta"' in shorter
    assert "900" in shorter
    assert len(shortest) <= 120
    assert 'Add "Alpha".' in shortest
    assert "900" not in shortest
    for text in (shorter, shortest):
        lines = text.splitlines()
        assert (lines[0], lines[-1]) == ("<!-- KEEP 1 -->", "<!-- KEEP 2 -->")


def test_every_limit_that_can_be_kept_is_kept():
    smallest = len(shortened(LONG, 0))

    for limit in range(smallest, len(LONG) + 1, 7):
        assert len(shortened(LONG, limit)) <= limit
    assert smallest <= len("<!-- KEEP 1 -->\n\n<!-- KEEP 2 -->\n")


def test_a_limit_in_tokens_alone_is_understood(compress):
    assert len(compress("at most 60 tokens")) <= 240


def test_a_bad_compression_changes_nothing_or_loses_rules(compress):
    vague = compress("about 250 characters", options=SimulatorOptions(vague_rate=1.0))
    harmful = compress("about 250 characters", options=SimulatorOptions(harmful_rate=1.0))

    assert vague == LONG
    assert len(harmful) <= 250
    assert "Beta" not in harmful
    assert "Use this freely." in harmful

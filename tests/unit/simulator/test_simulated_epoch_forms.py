from __future__ import annotations

import json

import pytest

from skillopt.loop.replies import parse_meta_skill, parse_notes, parse_slow_update
from skillopt.simulator.options import SimulatorOptions

SKILL = '# Notes\n\nWrite a note.\n- Add "Delta".'
COMPARISON = """### regressed: passed with the previous document, fails now (1 task)

#### Task t1
Task: a note
With the previous document:
~~~~
- the answer contains "Said"
~~~~
All criteria met.
With the current document:
~~~~
A note.
~~~~
Failed:
- the answer contains "Alpha": it does not contain it

### persistent_fail: fails with both documents (1 task)

#### Task t2
Task: a note
With the previous document:
~~~~
A note.
~~~~
Failed:
- the answer contains "Old": it does not contain it
With the current document:
~~~~
A note.
~~~~
Failed:
- the answer has a section headed "Beta": its headings are "X", "Y"
- the answer contains "Delta": it does not contain it

### improved: failed with the previous document, passes with the current one (1 task)

#### Task t3
Task: a note
With the previous document:
Failed:
- the answer contains "Gamma": it does not contain it
With the current document:
All criteria met.

### stable_success: passes with both documents (2 tasks)

t4, t5
"""


def fenced(text):
    return f"~~~~\n{text}\n~~~~"


def user(*, guidance="(none)", memory=None, comparison=COMPARISON):
    more = "" if memory is None else f"## Existing memory\n\n{memory}\n\n"
    return (
        f"## Previous skill\n\n(the same as the current one)\n\n## Current skill\n\n"
        f"{fenced(SKILL)}\n\n## Existing guidance\n\n{guidance}\n\n{more}"
        f"## Comparison\n\n{comparison}"
    )


@pytest.fixture
def guidance(ask, prompts):
    def guided(said, options=None):
        return parse_slow_update(ask(said, prompts("slow_update"), options).text).content

    return guided


def test_guidance_is_about_what_fails_with_the_current_document(ask, guidance):
    text = guidance(user())

    assert text.splitlines() == [
        '- Always include the exact text "Alpha" in the answer.',
        '- Always include a section headed "Beta" in the answer.',
        '- Remember: always include the exact text "Delta" in the answer.',
    ]
    answer = ask("Write a note on tides.", f"{SKILL}\n\n{text}").text
    assert "Alpha" in answer
    assert "## Beta" in answer


def test_existing_guidance_is_kept_and_said_once(guidance):
    old = '- Mind the tides.\n- Always include the exact text "Alpha" in the answer.'

    assert guidance(user(guidance=fenced(old))).splitlines()[:2] == old.splitlines()
    assert guidance(user(guidance=fenced(old))).count("Alpha") == 1


def test_without_a_failure_there_is_still_guidance(guidance):
    assert guidance(user(comparison="### stable_success: 1 task\n\nt1\n"))


@pytest.mark.parametrize("rate", ["vague_rate", "harmful_rate"])
def test_guidance_can_be_vague_or_do_harm(guidance, rate):
    text = guidance(user(), SimulatorOptions(**{rate: 1.0}))

    assert ('Never write "Alpha"' in text) == (rate == "harmful_rate")
    assert "Always include" not in text


def test_the_memory_of_editing_grows_and_keeps_what_it_has(ask, prompts):
    def learnt(memory, options=None):
        reply = ask(user(memory=memory), prompts("meta_skill"), options)
        return parse_meta_skill(reply.text).content

    first = learnt("(none)")
    second = learnt(fenced(f"- Short rules work.\n{first}"))

    assert "contains" in first
    assert "Alpha" not in first
    assert second == f"- Short rules work.\n{first}"
    assert learnt("(none)", SimulatorOptions(vague_rate=1.0)) == "- Edit with care."


@pytest.fixture
def condense(ask, prompts):
    def condensed(notes, options=None):
        said = f"## Notes\n\n{json.dumps(notes, indent=1)}\n"
        return list(parse_notes(ask(said, prompts("consolidate"), options).text).notes)

    return condensed


def test_notes_become_fewer_and_lose_nothing(condense):
    notes = [f"Remember: add [{n}]." for n in range(5)]

    assert condense([*notes, "remember: add [0]"]) == ["remember: add [0]", *notes[1:]]
    assert condense(notes) == [
        "Remember: add [0]. Remember: add [1].",
        "Remember: add [2]. Remember: add [3].",
        "Remember: add [4].",
    ]


def test_condensing_can_fail_to_condense_or_lose_notes(condense):
    notes = ["Remember: a.", "Remember: b.", "Remember: c."]

    assert condense(notes, SimulatorOptions(vague_rate=1.0)) == notes
    assert condense(notes, SimulatorOptions(harmful_rate=1.0)) == notes[:1]

from __future__ import annotations

import pytest

from skillopt.config.origins import Origin
from skillopt.config.skill_standard import front_matter_problems

GOOD = "name: sums\ndescription: Adds numbers.\n"


def problems(text: str, folder: str | None = None) -> list[str]:
    return front_matter_problems(f"---\n{text}---\n", Origin("S.md"), folder)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        "name: a\ndescription: x\n",
        f"name: {'a' * 64}\ndescription: {'x' * 1024}\n",
        "name: pdf-2-text\ndescription: |\n  Two\n  lines.\n",
        GOOD + "license: MIT\ncompatibility: Needs git\nallowed-tools: Bash(git:*) Read\n",
        GOOD + "metadata:\n  author: us\n  version: 1.0\n  tags: [a, b]\n",
        "name: größe\ndescription: Measures.\n",
        "name: '123'\ndescription: Counts.\n",
    ],
)
def test_front_matter_by_the_standard_has_no_problem(text):
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("description: x\n", "S.md: name is missing in the front matter; add `name: ...`"),
        ("name: sums\n", "S.md: description is missing in the front matter; add"),
        ("name:\ndescription: x\n", "S.md:2: name is empty; write it"),
        ("name: sums\ndescription: '  '\n", "S.md:3: description is empty; write it"),
        (f"name: {'a' * 65}\ndescription: x\n", "S.md:2: name has 65 characters; 64 are the most"),
        ("name: Sums\ndescription: x\n", "S.md:2: name: 'Sums' may have lowercase letters, digits"),
        ("name: my_sums\ndescription: x\n", "S.md:2: name: 'my_sums' may have lowercase letters"),
        ("name: my sums\ndescription: x\n", "S.md:2: name: 'my sums' may have lowercase letters"),
        ("name: -sums\ndescription: x\n", "S.md:2: name: '-sums' has a hyphen at an end"),
        ("name: sums-\ndescription: x\n", "S.md:2: name: 'sums-' has a hyphen at an end"),
        ("name: my--sums\ndescription: x\n", "S.md:2: name: 'my--sums' has a hyphen at an end"),
        ("name: 123\ndescription: x\n", "S.md:2: name: 123 is not text; put it in quotes"),
        (f"name: a\ndescription: {'x' * 1025}\n", "S.md:3: description has 1025 characters; 1024"),
        ("name: a\ndescription: [x]\n", "S.md:3: description: ['x'] is a list; write one line"),
        (GOOD + f"compatibility: {'x' * 501}\n", "S.md:4: compatibility has 501 characters; 500"),
        (GOOD + "compatibility:\n", "S.md:4: compatibility is empty; write it, or take"),
        (GOOD + "license: 2\n", "S.md:4: license: 2 is not text; put it in quotes"),
        (GOOD + "allowed-tools: [Read]\n", "S.md:4: allowed-tools: ['Read'] is a list; write one"),
        (GOOD + "metadata: x\n", "S.md:4: metadata: 'x' is not a section; write `key: value`"),
        (GOOD + "tags: [a]\n", "S.md:4: the standard does not know the key 'tags'; move it into"),
        (GOOD + "licence: MIT\n", "S.md:4: the standard does not know the key 'licence'; did you"),
        ("- a\n", "S.md: holds ['a']; expected `key: value` lines (front matter)"),
        ("name: [\n", "S.md:3: not valid YAML at column 1"),
        ("name: a\nname: b\n", "S.md:3: name is given twice (first on line 2); remove one (front"),
        ("a: &a [*a]\n" + GOOD, "S.md"),
        ("[" * 2000 + "\n", "S.md: is nested too deeply; write it flatter (front matter)"),
    ],
)
def test_what_departs_from_the_standard_is_named_with_its_line(text, message):
    [problem] = problems(text)
    assert problem.startswith(message)


def test_every_problem_is_named():
    assert len(problems("name: -A\nlicense: 1\nfoo: 1\n", "b")) == 6


def test_the_name_is_that_of_the_folder():
    assert problems(GOOD, "sums") == []
    assert problems("name: gro\u0308sse\ndescription: x\n", "gr\u00f6sse") == []
    assert problems(GOOD, "totals") == [
        "S.md:2: name: 'sums' is not the name of the skill's folder 'totals'; rename one of them"
    ]


def test_line_ends_of_another_system_do_not_matter():
    text = f"---\r\n{GOOD.replace(chr(10), chr(13) + chr(10))}---\r\n"
    assert front_matter_problems(text, Origin("S.md"), "sums") == []


def test_a_very_long_value_is_shortened():
    [problem] = problems(GOOD + f"{'k' * 5000}: 1\n")
    assert len(problem) < 1100

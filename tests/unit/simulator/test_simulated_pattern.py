from __future__ import annotations

import re

import pytest

from skillopt.simulator.pattern import example, holds


@pytest.mark.parametrize(
    "pattern",
    [
        r"plain text",
        r"[Cc]ertainty\s*[:=]",
        r"^\d{4}-\d\d-\d\d$",
        r"(?i)\bverdict\b.*(yes|no)",
        r"(?m)^## Costs$",
        r"(ab|cd)+\1",
        r"[^a-zA-Z0-9]{3}",
        r"\w+@\w+\.(com|org)",
        r"\S\s\D\W",
        r"a?b*c+d{2,3}",
        r"(?P<name>x)(?P=name)",
        r"(?:one|two) (?:three)?",
        r"x.y",
        r"\d+(?=%)%",
        r"^(?=.*foo)(?=.*\d).{3,}$",
        r"(?<!x)y",
        r"[\d.]+ units",
        r"\Astart.*end\Z",
        r"(?>ab)c++",
        r"",
    ],
)
def test_an_example_matches_its_pattern(pattern):
    found = example(pattern)

    assert found is not None
    assert re.search(pattern, found.text)


@pytest.mark.parametrize("pattern", ["(", "[z-a]", "a(?!)", r"(?<=far away)b"])
def test_a_pattern_without_an_example_gives_none(pattern):
    assert example(pattern) is None
    assert not holds(pattern, "a" * 100)


def test_anchors_say_where_an_example_must_stand():
    start, end, line = example("^a"), example("a$"), example("(?m)^a$")

    assert (start.at_start, start.at_end) == (True, False)
    assert (end.at_start, end.at_end) == (False, True)
    assert (line.at_start, line.at_end) == (False, False)


def test_a_pattern_that_takes_too_long_does_not_hold():
    assert not holds(r"^(a+)+$", "a" * 60 + "b")


@pytest.mark.parametrize("pattern", [r"(?:(?:a{1000}){1000}){1000}", r"(?:(?:a{0}){9999}){9999}"])
def test_a_pattern_whose_text_would_be_huge_has_no_example(pattern):
    assert example(pattern) is None
    assert not holds(pattern, "a" * 100)

from __future__ import annotations

import re
from typing import get_args

import pytest

from skillopt.domain.timing import EMBEDDED
from skillopt.state import keys
from skillopt.state.redis.scripts import FOLDER, Limits, ScriptName, chunks, milliseconds

NAMES = get_args(ScriptName)
SOURCES = {path.stem: path.read_text() for path in FOLDER.glob("*.lua")}


def _code(name: str) -> str:
    return re.sub(r"--.*", "", SOURCES[name])


def test_every_script_file_is_loaded():
    assert {*NAMES, "shared"} == set(SOURCES)


@pytest.mark.parametrize("name", NAMES)
def test_a_script_says_what_it_takes_and_touches(name: str):
    header = SOURCES[name].partition("\n\n")[0]
    assert header.startswith(f"-- {name.upper()}: ")
    for section in ("KEYS", "ARGV", "Reply"):
        assert f"-- {section} " in header, section
    assert re.search(r"\n-- (Reads|Writes|Renews) ", header)


@pytest.mark.parametrize("name", SOURCES)
def test_a_script_holds_no_duration_and_no_limit(name: str):
    code = re.sub(r"(KEYS|ARGV)\[[^]]*\]", "", _code(name))
    units = {"1000", "1000000"}
    long_numbers = {number for number in re.findall(r"\b\d+\b", code) if len(number) > 2}
    assert long_numbers <= units


@pytest.mark.parametrize("name", SOURCES)
def test_a_script_builds_no_key_of_its_own(name: str):
    assert keys.PREFIX not in _code(name)


def test_durations_become_whole_milliseconds():
    assert [milliseconds(value) for value in (0, 0.0001, 0.15, 30)] == [1, 1, 150, 30_000]
    assert Limits.of(EMBEDDED).lease == 10_000


def test_long_inputs_are_cut():
    assert [list(piece) for piece in chunks(range(5), 2)] == [[0, 1], [2, 3], [4]]
    assert list(chunks([], 2)) == []

"""Texts that jobs refer to: read once, kept for the next job."""

from __future__ import annotations

import pytest

from skillopt.domain.timing import Timing
from skillopt.errors import StateCorrupt
from skillopt.state.memory.build import build
from workers.inputs import KEPT_TEXTS, Inputs


class Counting:
    """Blobs that count how many texts are asked for."""

    def __init__(self) -> None:
        self.blobs = build(Timing(), lambda: 0.0).blobs
        self.asked: list[str] = []

    def put(self, contents):
        return self.blobs.put(contents)

    def get(self, hashes):
        self.asked += hashes
        return self.blobs.get(hashes)


def test_a_text_is_read_once():
    blobs = Counting()
    [one, two] = blobs.put([b"one", b"two"])
    inputs = Inputs(blobs)
    assert inputs.load([one]) == {one: b"one"}
    assert inputs.load([one, two]) == {one: b"one", two: b"two"}
    assert blobs.asked == [one, two]


def test_a_missing_text_is_named_and_looked_for_again():
    blobs = Counting()
    inputs = Inputs(blobs)
    [name] = Counting().put([b"later"])
    with pytest.raises(StateCorrupt, match=name[:16]):
        inputs.load([name])
    blobs.put([b"later"])
    assert inputs.load([name]) == {name: b"later"}


def test_only_the_recent_texts_are_kept():
    blobs = Counting()
    names = blobs.put([str(number).encode() for number in range(KEPT_TEXTS + 1)])
    inputs = Inputs(blobs)
    for name in names:
        inputs.load([name])
    blobs.asked.clear()
    inputs.load([names[-1]])
    inputs.load([names[0]])
    assert blobs.asked == [names[0]]

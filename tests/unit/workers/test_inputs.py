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


def test_what_is_needed_soon_comes_with_the_rest_and_may_be_missing():
    blobs = Counting()
    [one, two] = blobs.put([b"one", b"two"])
    [lost] = Counting().put([b"lost"])
    inputs = Inputs(blobs)
    assert inputs.load([one], soon=[two, lost])[one] == b"one"
    assert blobs.asked == [one, two, lost]
    assert inputs.load([two]) == {two: b"two"}
    assert blobs.asked == [one, two, lost]
    with pytest.raises(StateCorrupt, match=lost[:16]):
        inputs.load([lost])


def test_large_texts_are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("workers.inputs.KEPT_BYTES", 10)
    blobs = Counting()
    [small, large, huge] = blobs.put([b"12345", b"123456", b"12345678901"])
    inputs = Inputs(blobs)
    for name in (small, large, huge, small):
        inputs.load([name])
    assert blobs.asked == [small, large, huge, small]
    inputs.load([small])
    assert blobs.asked == [small, large, huge, small]

"""Which stored results are meant, and in what two attempts differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from producer.caching.clearing import Selection, age_in_seconds, clear, matching
from producer.caching.differences import FIELDS, in_words
from producer.caching.documents import documents_meant
from producer.known_runs import KnownRuns
from producer.view.cache_page import size, time_span
from skillopt.domain.fingerprint import sha256_hex, text_hash
from skillopt.domain.jobs import RolloutSpec
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.results import Receipt
from skillopt.domain.skill_folder import manifest
from skillopt.domain.timing import Timing
from skillopt.errors import InputError
from skillopt.state.memory.build import build
from skillopt.state.ports import Finished, State, Want

DAY_S = 86_400.0
SPEC = RolloutSpec(skill="a" * 64, prompt="b" * 64, template="c" * 64, backend="d" * 64)


def like(changes: dict[str, Any]) -> RolloutSpec:
    return RolloutSpec.model_validate({**SPEC.model_dump(), **changes})


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> State:
    return build(Timing(), clock)


def store(state: State, spec: RolloutSpec, payer: str = "r1") -> str:
    """Have a run want a job and a worker commit it; the run does not see the result."""
    state.runs.create(payer, meta={"name": payer}, events=[], status="running")
    lead = state.runs.lead(payer, "c")
    assert lead is not None
    state.board.want(lead, [Want(spec.id, spec.encoded)], room=10)
    line = LedgerLine(outcome="scored", digest="0" * 64, payer=payer)
    receipt = Receipt(calls=1, cost_micro_usd=5)
    texts = (line.model_dump_json(), "{}", receipt.model_dump_json())
    state.claims.commit([Finished(spec.id, *texts, skill=spec.skill)], owner="w")
    return spec.id


def finish(state: State, run: str) -> None:
    lead = state.runs.lead(run, "c")
    assert lead is not None
    state.runs.step(lead, version=0, events=[], status="finished", open=False)


def chosen(state: State, selection: Selection) -> list[str]:
    return sorted(matching(state, selection, lambda count: None).payers)


def test_all_that_is_given_must_hold(state: State, clock: Clock) -> None:
    old = store(state, SPEC)
    clock.now += 8 * DAY_S
    new = store(state, like({"sample": 1}))
    other = store(state, like({"skill": "e" * 64, "backend": "f" * 64}))
    week_s = 7 * DAY_S
    assert chosen(state, Selection()) == sorted([old, new, other])
    assert chosen(state, Selection(older_than_s=week_s)) == [old]
    assert chosen(state, Selection(skills=["a" * 64])) == sorted([old, new])
    assert chosen(state, Selection(fingerprints=["f" * 64])) == [other]
    assert chosen(state, Selection(skills=["e" * 64], older_than_s=week_s)) == []
    assert chosen(state, Selection(fingerprints=["d" * 64], older_than_s=week_s)) == [old]
    found = matching(state, Selection(), lambda count: None)
    assert (found.calls, found.cost_micro_usd) == (3, 15)


def test_what_an_unfinished_run_paid_for_stays_until_it_is_finished(state: State) -> None:
    job = store(state, SPEC)
    found = matching(state, Selection(), lambda count: None)
    cleared = clear(state, found, KnownRuns(state), lambda count: None)
    assert (cleared.removed, cleared.kept) == (0, 1)
    finish(state, "r1")
    cleared = clear(state, found, KnownRuns(state), lambda count: None)
    assert (cleared.removed, cleared.kept) == (1, 0)
    assert state.cache.peek([job]) == {}


@pytest.mark.parametrize(
    ("text", "seconds"), [("30m", 1800), ("12h", 43_200), ("7d", 604_800), ("1.5w", 907_200)]
)
def test_ages_are_read(text: str, seconds: float) -> None:
    assert age_in_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "7", "d", "-1d", "7 days", "1y"])
def test_what_is_no_age_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="7d") as refused:
        age_in_seconds(text)
    assert repr(text) in str(refused.value)


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_an_attempt_has_words(field: str) -> None:
    value = {"layout": "folder", "sample": 3, "salt": "run-7", "env": "other"}.get(field, "9" * 64)
    there = like({field: value})
    [difference] = in_words(SPEC, there, [])
    assert difference.field == field
    assert str(value)[:16] in difference.words


def test_fields_are_all_that_a_spec_has() -> None:
    assert set(FIELDS) == set(RolloutSpec.model_fields) - {"kind", "params"}


def test_parameters_that_differ_are_named() -> None:
    here = like({"params": {"temperature": 0.2, "seed": 1}})
    there = here.model_copy(update={"backend": "9" * 64, "params": {"temperature": 0.7, "seed": 1}})
    [difference] = in_words(here, there, [])
    assert "temperature 0.2 here, 0.7 there" in difference.words
    assert "seed" not in difference.words


def test_a_skill_folder_means_all_its_files(state: State, tmp_path: Path) -> None:
    folder = tmp_path / "skill"
    folder.mkdir()
    text = "---\nname: skill\ndescription: d\n---\nBody\n"
    (folder / "SKILL.md").write_text(text)
    runs = KnownRuns(state)
    [file] = documents_meant(str(folder / "SKILL.md"), state, runs)
    [whole] = documents_meant(str(folder), state, runs)
    assert file.hash == text_hash(text)
    assert whole.hash == sha256_hex(manifest(text, ()))


def test_a_beginning_of_several_hashes_is_refused_with_them(state: State) -> None:
    for tail in ("1", "2"):
        store(state, like({"skill": "abcd" + tail * 60}))
    with pytest.raises(InputError, match=r"'abcd' begins 2 documents.*abcd1111.*abcd2222"):
        documents_meant("abcd", state, KnownRuns(state))
    [one] = documents_meant("ABCD1", state, KnownRuns(state))
    assert one.hash == "abcd" + "1" * 60


def test_sizes_and_spans_are_short() -> None:
    assert [size(count) for count in (0, 1023, 1536, 5 << 20)] == [
        "0 B", "1023 B", "1.5 KiB", "5.0 MiB"
    ]  # fmt: skip
    assert [time_span(s) for s in (5, 120, 7200, 13.9 * DAY_S)] == [
        "< 1 min", "2 min", "2 h", "13 d"
    ]  # fmt: skip


def test_a_result_of_another_version_is_left_out(state: State) -> None:
    state.claims.commit([Finished("j", json.dumps({"odd": 1}), "{}", "{}")], owner="w")
    assert chosen(state, Selection()) == []

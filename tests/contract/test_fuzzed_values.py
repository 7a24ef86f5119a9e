"""Whatever is stored or sent, reading it gives a value or an error of our own tree."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from damaged_values import DAMAGES, mangled
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_run import ScriptedRun, make_plan

from producer.facts import LedgerFacts
from producer.folder.stored import StoredCalls
from producer.records import decode_record
from producer.requests import decode_request
from producer.stored_log import folded
from skillopt.domain.events import decode_event, encode_event
from skillopt.domain.fingerprint import sha256_hex
from skillopt.domain.jobs import decode_spec
from skillopt.domain.messages import Message, decode_messages, encode_messages
from skillopt.domain.reply_schema import decode_schema
from skillopt.domain.skill_folder import manifest, read_manifest
from skillopt.domain.timing import Timing
from skillopt.domain.view import RunView, read_view
from skillopt.errors import SkillOptError
from skillopt.state.memory.build import build
from skillopt.state.ports import LogEntry, State, StoredResult
from skillopt.state.redis.fleet import _info as read_announcement
from skillopt.state.redis.replies import integer, json_object, text
from skillopt.wire.payloads import TryJob, addressed, decode

#: Messages about what cannot be read stay short, however large it was.
LONGEST_MESSAGE = 2_000


@dataclass(frozen=True)
class Reader:
    """Something that reads stored bytes, and what it reads when nothing is wrong."""

    read: Callable[[bytes], object]
    samples: tuple[bytes, ...]

    @property
    def names(self) -> list[str]:
        found: dict[str, None] = {}
        for sample in self.samples:
            value = json.loads(sample)
            rows = value if isinstance(value, list) else [value]
            found.update(dict.fromkeys(name for row in rows for name in row))
        return list(found)


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """Read as the adapter hands it on: bytes that are no text do not get further."""
    return lambda raw: read(text(raw, "a stored value"))


def _facts(results: dict[str, StoredResult], blobs: dict[str, bytes]) -> LedgerFacts:
    class Stored:
        def __init__(self, table: dict[str, Any]) -> None:
            self._table = table

        def get(self, names):
            return {name: self._table[name] for name in names if name in self._table}

    ledger = {job: one.line for job, one in results.items()}
    return LedgerFacts("r", ledger, Stored(results), Stored(blobs))


RUN = ScriptedRun().finish()
BODIES = tuple(one.body.encode() for one in list(RUN.store.results.values())[::12])
LINE = next(iter(RUN.store.results.values())).line


def read_body(raw: bytes) -> object:
    stored = StoredResult(LINE, text(raw, "a body"), "{}")
    return _facts({"a" * 64: stored}, {}).body("a" * 64)


def read_receipt(raw: bytes) -> object:
    """Records are for people: what cannot be read is recorded as missing."""
    job, stored = next(iter(RUN.store.results.items()))
    state = build(Timing(), lambda: 0.0)

    class Results:
        def get(self, jobs):
            return {job: StoredResult(stored.line, stored.body, text(raw, "a receipt"))}

    state = State(**{**vars(state), "results": Results()})
    calls = StoredCalls(state, "r", RUN)
    calls.load([job])
    return calls.call(job)


def read_spec(raw: bytes) -> object:
    return decode_spec(sha256_hex(raw), raw)


READERS: dict[str, Reader] = {
    "event": Reader(
        _text(decode_event), tuple(encode_event(event).encode() for event in RUN.events[:9])
    ),
    "ledger line": Reader(
        lambda raw: _facts({"j": StoredResult(text(raw, "a line"), "", "")}, {}), (LINE.encode(),)
    ),
    "body": Reader(read_body, BODIES),
    "receipt": Reader(read_receipt, (next(iter(RUN.store.results.values())).receipt.encode(),)),
    "spec": Reader(read_spec, tuple(job.spec.encoded for job in RUN.performed.values())[::9]),
    "messages": Reader(
        decode_messages, (encode_messages((Message(role="user", content="Grüße"),)),)
    ),
    "reply schema": Reader(
        decode_schema,
        (b'{"name": "edits", "schema": {"type": "object", "properties": {}}}',),
    ),
    "manifest": Reader(read_manifest, (manifest("# Skill\n", ()),)),
    "view": Reader(
        lambda raw: read_view(text(raw, "a view")), (RunView(stage="x").model_dump_json().encode(),)
    ),
    "announcement": Reader(
        read_announcement,
        (b'{"worker": "w", "backend": "b", "fingerprint": "f", "capacity": 8, "lane": "normal"}',),
    ),
    "request": Reader(_text(decode_request), (b'{"type": "try_again"}',)),
    "record": Reader(decode_record, (b'{"kind": "rollout", "stage": "x"}',)),
    "meta": Reader(lambda raw: json_object(raw, "meta"), (b'{"plan": "x", "name": "y"}',)),
    "number": Reader(lambda raw: integer(raw, "a number"), (b'{"plan": "x"}',)),
}


def read_or_refused(reader: Reader, raw: bytes) -> None:
    try:
        reader.read(raw)
    except SkillOptError as error:
        assert str(error)
        assert len(str(error)) < LONGEST_MESSAGE


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_value_is_refused_or_read_and_nothing_else(name, damage):
    reader = READERS[name]
    for sample in reader.samples:
        read_or_refused(reader, DAMAGES[damage](sample))


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_any_bytes_are_refused_or_read_and_nothing_else(name, data):
    reader = READERS[name]
    read_or_refused(reader, data.draw(mangled(list(reader.samples), reader.names)))


# --- whole logs ---------------------------------------------------------------------------------

OTHER = ScriptedRun(make_plan(skill="# Another\n\nSay nothing.\n")).finish()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_log_with_events_missing_repeated_or_of_another_run_folds_or_is_refused(data):
    """And where it folds, every document and task that it names is the run's own."""
    own = RUN.log()
    foreign = data.draw(st.lists(st.sampled_from(OTHER.log()), max_size=3))
    kept = data.draw(st.lists(st.sampled_from(own), max_size=len(own), unique_by=id))
    mixed = data.draw(st.permutations([*kept, *foreign]))
    head = data.draw(st.integers(0, len(own)))
    entries = [*own[:head], *mixed]
    try:
        state = folded(RUN.plan, entries)
    except SkillOptError:
        return
    assert state.current in state.texts
    assert state.best in state.texts


def test_the_log_of_another_run_is_refused_by_name():
    with pytest.raises(SkillOptError, match=f"that of run '{OTHER.run_id}'"):
        folded(RUN.plan, OTHER.log())


def test_a_log_that_names_a_foreign_task_is_refused():
    started = next(entry for entry in RUN.log() if '"step_started"' in entry.event)
    changed = json.loads(started.event)
    changed["items"] = ["nobody-knows"]
    log = RUN.log()
    log[started.seq - 1] = LogEntry(started.seq, started.at, json.dumps(changed))
    with pytest.raises(SkillOptError, match="names task 'nobody-knows'"):
        folded(RUN.plan, log)


# --- messages -----------------------------------------------------------------------------------

MESSAGE = {"version": 1, "job": "ab" * 32, "run": "demo-0123456789ab", "backend": "sim"}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_message_is_refused_or_read(damage):
    raw = DAMAGES[damage](json.dumps(MESSAGE).encode())
    try:
        payload: object = json.loads(raw)
    except (ValueError, RecursionError):
        payload = raw  # the broker's own reader refuses it before us
    try:
        assert isinstance(decode(payload), TryJob)
    except SkillOptError as error:
        assert len(str(error)) < LONGEST_MESSAGE
    addressed(payload)

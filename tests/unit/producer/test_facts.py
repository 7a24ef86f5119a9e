from __future__ import annotations

import pytest
from scripted_run import Store, finished_job

from producer import facts as facts_module
from producer.facts import LedgerFacts, ResultMissing
from skillopt.domain.messages import Message, encode_messages
from skillopt.domain.results import Body, JudgementBody, ReplyBody
from skillopt.errors import StateCorrupt
from skillopt.state.ports import StoredResult

HELLO = ReplyBody(text="hello")


class Shelf:
    """A store of results, and the ledger lines of a run."""

    def __init__(self) -> None:
        self.store = Store()
        self.ledger: dict[str, str] = {}

    def put(self, job: str, body: Body, *, payer: str = "r1") -> None:
        done = finished_job(job, body, payer=payer, calls=1)
        self.store.results[job] = StoredResult(done.line, done.body, done.receipt)
        self.ledger[job] = done.line

    def facts(self) -> LedgerFacts:
        return LedgerFacts("r1", self.ledger, self.store.state().results, self.store.state().blobs)


def test_lines_come_from_the_ledger_and_bodies_from_the_results():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    shelf.put("j2", JudgementBody(hard=1.0, soft=0.5))
    facts = shelf.facts()
    line = facts.line("j2")
    assert line is not None
    assert (line.hard, line.soft) == (1.0, 0.5)
    assert facts.body("j1") == HELLO
    assert facts.line("j3") is None


def test_a_body_is_read_once():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    facts = shelf.facts()
    assert [facts.body("j1") for _ in range(3)] == [HELLO] * 3
    assert shelf.store.reads == 1


def test_the_oldest_bodies_make_room_and_are_read_again(monkeypatch):
    monkeypatch.setattr(facts_module, "BODY_CACHE", 2)
    shelf = Shelf()
    for job in ("j1", "j2", "j3"):
        shelf.put(job, ReplyBody(text=job))
    facts = shelf.facts()
    for job in ("j1", "j2", "j1", "j3"):
        facts.body(job)
    assert shelf.store.reads == 3
    facts.body("j1")
    assert shelf.store.reads == 3, "j1 was used lately"
    facts.body("j2")
    assert shelf.store.reads == 4


def test_a_result_that_is_gone_is_missing_and_says_which():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    del shelf.store.results["j1"]
    with pytest.raises(ResultMissing) as raised:
        shelf.facts().body("j1")
    assert raised.value.job == "j1"


def test_a_result_that_is_not_the_one_pinned_counts_as_missing():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    pinned = dict(shelf.ledger)
    shelf.put("j1", ReplyBody(text="another reply"))
    shelf.ledger = pinned
    with pytest.raises(ResultMissing):
        shelf.facts().body("j1")


def test_a_forgotten_job_is_unknown_until_it_is_added_again():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    facts = shelf.facts()
    facts.body("j1")
    facts.forget("j1")
    assert facts.line("j1") is None
    facts.forget("j1")
    shelf.put("j1", ReplyBody(text="anew"))
    facts.add("j1", shelf.ledger["j1"])
    assert facts.body("j1") == ReplyBody(text="anew")


def test_hits_are_the_results_that_others_paid_for():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    shelf.put("j2", HELLO, payer="r2")
    facts = shelf.facts()
    assert facts.cache_hits == 1
    shelf.put("j3", HELLO, payer="r3")
    facts.add("j3", shelf.ledger["j3"])
    assert facts.cache_hits == 2
    shelf.put("j4", JudgementBody(hard=1.0, soft=1.0), payer="r3")
    facts.add("j4", shelf.ledger["j4"])
    assert facts.cache_hits == 2, "a local judgement would have made no call"


def test_a_line_that_is_not_understood_is_corruption_and_names_the_job():
    with pytest.raises(StateCorrupt, match="'j1'"):
        LedgerFacts("r1", {"j1": "{}"}, Store().state().results, Store().state().blobs)


def test_a_body_of_another_version_counts_as_missing_so_that_it_is_obtained_anew():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    stored = shelf.store.results["j1"]
    shelf.store.results["j1"] = StoredResult(stored.line, '{"kind": "poem"}', stored.receipt)
    with pytest.raises(ResultMissing, match="job j1 cannot be had"):
        shelf.facts().body("j1")


def test_a_conversation_is_read_once_and_given_as_it_was():
    shelf = Shelf()
    sent = (Message(role="user", content="hi"), Message(role="assistant", content="hello"))
    blob = shelf.store.put(encode_messages(sent))
    shelf.put("j1", ReplyBody(text="hello", trajectory=blob))
    facts = shelf.facts()
    assert facts.messages("j1") == sent
    before = shelf.store.reads
    assert facts.messages("j1") == sent
    assert shelf.store.reads == before


def test_a_reply_without_a_conversation_has_none():
    shelf = Shelf()
    shelf.put("j1", HELLO)
    assert shelf.facts().messages("j1") == ()


def test_a_conversation_that_is_gone_makes_the_result_missing():
    """The job is then run again, and brings both."""
    shelf = Shelf()
    shelf.put("j1", ReplyBody(text="hello", trajectory="0" * 64))
    with pytest.raises(ResultMissing):
        shelf.facts().messages("j1")

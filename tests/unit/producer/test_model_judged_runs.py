"""Runs whose tasks a model judges: what is foreseen, recorded, shown and counted of them."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from recorded_runs import stored_calls
from rich.console import Console
from rubric_run import rubric_run
from scripted_run import ScriptedRun

from producer.facts import LedgerFacts
from producer.folder.rollouts import Scope, collect, locate
from producer.planning import plan_ahead
from producer.records import decode_record, encode_records
from producer.view.call_page import call_page
from producer.wants import left_open
from skillopt.domain.backend import Backend, Params
from skillopt.domain.events import Gated, Measured
from skillopt.domain.usage import Price
from skillopt.loop.forecast import forecast
from skillopt.simulator.options import SimulatorOptions

FREE = Price(input=0, output=0)
BACKENDS = {
    "sim": Backend(name="sim", kind="simulated", model="sim", price=FREE),
    "critic": Backend(name="critic", kind="simulated", model="sim", price=Price(input=1, output=9)),
}


def baseline(run: ScriptedRun):
    plan = run.plan
    scope = Scope("baseline", plan.initial_key, "val", plan.splits.val, range(1))
    return collect(run.state, stored_calls(run), locate(run.state, run, scope), scope)


@pytest.fixture
def measured() -> ScriptedRun:
    return rubric_run(SimulatorOptions(malformed_rate=0.3)).until(Measured)


def test_a_record_tells_what_the_judge_was_asked_and_said(measured):
    record = baseline(measured)[0]
    assert [one.role for one in record.judge_messages][:3] == ["system", "user", "assistant"]
    assert 'contains "Verdict:"' in record.judge_messages[1].content
    assert record.judge_receipt.calls == 1
    assert decode_record(encode_records([record]).splitlines()[0]) == record


def test_a_record_of_a_local_judgement_has_no_such_part():
    record = baseline(ScriptedRun().until(Measured))[0]
    assert (record.judge_messages, record.judge_receipt) == (None, None)


def test_the_page_shows_the_conversation_with_the_judge(measured):
    console = Console(file=io.StringIO(), width=120)
    console.print(*call_page(baseline(measured)[0]), sep="\n")
    text = console.file.getvalue()
    assert "[the judge's own calls]" in text
    assert 'A good note contains "Verdict:".' in text
    assert "[feedback to the analyst]" in text


def test_a_judges_lost_words_leave_its_verdict(measured):
    measured.store.blobs.clear()
    record = baseline(measured)[0]
    assert record.judge_messages is None
    assert record.hard is not None
    assert record.feedback


# --- counted ------------------------------------------------------------------------------------


def test_judgements_by_a_model_that_others_paid_for_are_cache_hits():
    lines = {
        "1": '{"outcome":"scored","digest":"d","payer":"other"}',
        "2": '{"outcome":"scored","digest":"d","hard":1,"soft":1,"payer":"other"}',
        "3": '{"outcome":"scored","digest":"d","hard":1,"soft":1,"payer":"other","by_model":true}',
        "4": '{"outcome":"scored","digest":"d","hard":1,"soft":1,"payer":"me","by_model":true}',
    }
    assert LedgerFacts("me", lines, None, None).cache_hits == 2


def test_no_run_makes_more_calls_than_foreseen_its_judges_included():
    run = rubric_run()
    foreseen = forecast(run.plan, BACKENDS)
    run.finish()
    roles = [job.role for job in run.performed.values()]
    assert roles.count("judge") > 4
    assert len(roles) <= foreseen.total.calls
    assert foreseen.baseline.calls == 2 * len(run.plan.splits.val)


def test_only_attempts_that_a_model_judges_take_a_second_call():
    plan = rubric_run().plan
    half = tuple(
        item if n % 2 else item.model_copy(update={"judge": ScriptedRun().plan.splits.val[0].judge})
        for n, item in enumerate(plan.splits.val)
    )
    mixed = plan.model_copy(update={"splits": plan.splits.model_copy(update={"val": half})})
    assert forecast(mixed, BACKENDS).baseline.calls == 4 + 2


def test_the_judges_price_and_limit_count():
    plan = rubric_run().plan
    cost = forecast(plan, BACKENDS).baseline
    assert cost.micro_usd > 0
    capped = {**BACKENDS, "critic": BACKENDS["critic"].using(Params(max_output_tokens=10))}
    assert forecast(plan, capped).baseline.output_tokens == 4 * (500 + 10)
    told = plan_ahead(plan, BACKENDS, baseline=0.5).assumptions
    assert any("one call more, of the judge" in text for text in told)


# --- waited for ---------------------------------------------------------------------------------


def test_a_takeover_knows_the_judgements_that_an_early_gate_left_open():
    run = rubric_run().until(Gated)
    gate = run.state.gates[-1].model_copy(update={"early": True})
    state = SimpleNamespace(gates=[gate], texts=run.state.texts, plan=run.plan)
    judgement = next(
        job
        for job in run.performed.values()
        if job.role == "judge" and "gate" in job.label and "val-0" in job.label
    )
    del run.ledger[judgement.id]
    assert left_open(state, run, run.factory) == [judgement.id]

"""What is an estimate is shown as one."""

from __future__ import annotations

from scripted_run import ScriptedRun

from producer.records import CallReceipt
from producer.summary import summarize
from producer.view.call_page import receipt_words
from producer.view.final import work_lines
from skillopt.domain.results import Receipt
from skillopt.state.ports import Amount, Spend

CALLS = {"target": 3, "optimizer": 0, "judge": 0}


def lines(spend: Spend, *, priced: bool = True) -> list[str]:
    summary = summarize(
        ScriptedRun().finish().state,
        skill="SKILL.md",
        spend=spend,
        cache_hits=0,
        seconds=1.0,
        run_dir="runs/r",
        priced=priced,
    )
    return work_lines(summary)


def test_a_receipt_says_that_its_tokens_are_estimated():
    counted = Receipt(calls=1, input_tokens=10, output_tokens=5, estimated=True).model_dump()
    words = receipt_words(CallReceipt(**counted, from_cache=False))
    assert words.endswith("10 tokens in, 5 out, $0 (estimated: the provider reported no usage)")
    told = {**counted, "estimated": False}
    assert "estimated" not in receipt_words(CallReceipt(**told, from_cache=False))


def test_a_summary_says_how_many_tokens_are_estimated():
    spend = Spend(calls=CALLS, input_tokens=900, output_tokens=100, estimated_tokens=250)
    assert any("900 in, 100 out (250 estimated); cost" in line for line in lines(spend))
    exact = Spend(calls=CALLS, input_tokens=900, output_tokens=100)
    assert not any("estimated" in line for line in lines(exact))


def test_a_summary_says_what_unconfirmed_calls_may_have_cost():
    spend = Spend(calls=CALLS, unconfirmed=Amount(calls=2, tokens=5_000, micro_usd=1_500_000))
    assert lines(spend)[-1] == (
        "Unconfirmed: 2 calls without an answer; budgets count up to 5,000 tokens and $1.50 for "
        "them"
    )
    assert "5,000 tokens for them" in lines(spend, priced=False)[-1]

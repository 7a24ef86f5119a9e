from __future__ import annotations

import pytest
from scripted_run import ScriptedRun

from producer.folder.optimizer_calls import collect_optimizer
from producer.folder.rollouts import EXPIRED, Scope, collect, locate
from producer.folder.stored import StoredCalls
from producer.records import decode_record, encode_records
from skillopt.domain.events import GaveUp, Measured, Reflected, Selected
from skillopt.domain.outcome import LedgerLine
from skillopt.errors import StateCorrupt


def stored_calls(run: ScriptedRun) -> StoredCalls:
    return StoredCalls(run.store.state(), run.state.run, run)


def baseline(run: ScriptedRun):
    plan = run.plan
    scope = Scope("baseline", None, plan.initial_key, "val", plan.splits.val, 1)
    return collect(run.state, stored_calls(run), locate(run.state, run, scope), scope)


def optimizer_calls(run: ScriptedRun, step: int = 1):
    return collect_optimizer(run.state, stored_calls(run), run, run.state.steps[step - 1])


def test_an_attempt_is_recorded_with_what_was_sent_answered_and_judged():
    run = ScriptedRun().until(Measured)
    records = baseline(run)
    assert [record.item for record in records] == [item.id for item in run.plan.splits.val]
    record = records[0]
    assert (record.outcome, record.hard, record.soft, record.problem) == ("scored", 0.0, 0.0, "")
    assert record.messages[0].content == run.plan.skill
    assert record.messages[1].content == "Task val-alpha: alpha?"
    assert [(c.requirement, c.passed) for c in record.criteria] == [("say alpha", False)]
    assert record.criteria[0].detail == "alpha is not there"
    assert (record.reply, record.finish_reason) == ("", "stop")
    assert (record.receipt.worker, record.receipt.calls) == ("w1", 1)
    assert record.receipt.from_cache is False


def test_a_result_that_another_run_paid_for_came_from_the_cache():
    run = ScriptedRun().until(Measured)
    job = baseline(run)[0].rollout
    run.ledger[job] = run.ledger[job].model_copy(update={"payer": "another-run"})
    assert [record.receipt.from_cache for record in baseline(run)] == [True, False, False, False]


def test_results_and_trajectories_are_read_in_bulk():
    run = ScriptedRun().until(Measured)
    run.store.reads = 0
    baseline(run)
    assert run.store.reads == 2


def test_an_expired_result_is_missing_and_keeps_the_ledgers_score():
    run = ScriptedRun().until(Measured)
    job = baseline(run)[0].rollout
    del run.store.results[job]
    record = baseline(run)[0]
    assert (record.outcome, record.problem, record.hard) == ("missing", EXPIRED, 0.0)
    assert record.reply is None
    assert record.receipt is None


def test_a_result_that_is_not_the_one_the_ledger_pins_is_not_shown():
    run = ScriptedRun().until(Measured)
    job = baseline(run)[0].rollout
    line = LedgerLine(outcome="scored", digest="0" * 64)
    stored = run.store.results[job]
    run.store.results[job] = type(stored)(line.model_dump_json(), stored.body, stored.receipt)
    assert baseline(run)[0].outcome == "missing"


def test_a_result_of_an_unknown_form_is_missing_not_a_crash():
    run = ScriptedRun().until(Measured)
    job = baseline(run)[0].rollout
    stored = run.store.results[job]
    run.store.results[job] = type(stored)(stored.line, '{"kind": "hologram"}', stored.receipt)
    assert baseline(run)[0].outcome == "missing"


def test_a_lost_trajectory_leaves_the_reply():
    run = ScriptedRun().until(Measured)
    run.store.blobs.clear()
    record = baseline(run)[0]
    assert (record.outcome, record.messages, record.reply) == ("scored", None, "")
    assert "not stored any more" in record.problem


def test_an_attempt_that_was_given_up_says_why():
    run = ScriptedRun()
    job = run.factory.rollout(run.plan.initial_key, run.plan.splits.val[0], 0).id
    run.record(GaveUp(jobs={job: "timeout: no answer in 120 s"}))
    record = baseline(run)[0]
    assert (record.outcome, record.problem) == ("missing", "timeout: no answer in 120 s")
    assert (record.hard, record.judgement) == (None, None)


def test_an_attempt_without_judgement_is_missing_even_if_its_reply_is_there():
    run = ScriptedRun().until(Measured)
    del run.ledger[baseline(run)[0].judgement]
    record = baseline(run)[0]
    assert (record.outcome, record.hard, record.reply) == ("missing", None, "")


def test_an_attempt_whose_reply_expired_before_it_was_judged_is_missing():
    run = ScriptedRun().until(Measured)
    first = baseline(run)[0]
    del run.ledger[first.judgement]
    del run.store.results[first.rollout]
    record = baseline(run)[0]
    assert (record.outcome, record.rollout, record.reply) == ("missing", first.rollout, None)


def test_a_filtered_task_is_invalid_with_its_reason():
    run = ScriptedRun(filtered="val-beta").until(Measured)
    record = baseline(run)[1]
    assert (record.outcome, record.hard) == ("invalid", None)
    assert record.problem == "the content filter refused the prompt"


def test_the_optimizer_calls_of_a_step_are_found_again_long_after_it():
    run = ScriptedRun().finish()
    asked = {}
    for step in run.state.steps:
        for record in optimizer_calls(run, step.started.step):
            asked[record.job] = record
            assert record.outcome == "scored"
            assert record.reply is not None
            assert record.receipt.calls == 1
            assert record.messages[0].role == "system"
    made = {job for job, wanted in run.performed.items() if wanted.role == "optimizer"}
    assert set(asked) == made
    assert {record.call for record in asked.values()} >= {"reflect_failure", "merge", "rank"}


def test_a_repair_is_a_call_of_its_own():
    run = ScriptedRun(garbles=True).until(Selected)
    labels = [record.label for record in optimizer_calls(run)]
    assert "step 1 / reflect failure 0" in labels
    assert "step 1 / reflect failure 0 / repair" in labels


def test_an_analysis_names_the_tasks_it_was_shown():
    run = ScriptedRun().until(Selected)
    shown = [item for r in optimizer_calls(run) if r.call == "reflect_failure" for item in r.items]
    assert sorted(shown) == sorted(run.state.steps[0].started.items)


def test_an_expired_optimizer_reply_is_missing_and_keeps_its_prompt():
    run = ScriptedRun().until(Selected)
    first = optimizer_calls(run)[0]
    del run.store.results[first.job]
    again = optimizer_calls(run)[0]
    assert (again.job, again.outcome, again.reply) == (first.job, "missing", None)
    assert again.messages == first.messages


def test_an_analysis_whose_attempts_expired_is_missing_without_its_prompt():
    run = ScriptedRun().until(Reflected)
    run.store.results.clear()
    records = optimizer_calls(run)
    assert [(r.outcome, r.job, r.messages) for r in records[:2]] == [("missing", None, None)] * 2


def test_records_survive_writing_and_reading():
    run = ScriptedRun().until(Selected)
    records = [*baseline(run), *optimizer_calls(run)]
    assert [decode_record(line) for line in encode_records(records).splitlines()] == records


def test_a_line_that_is_no_record_is_an_error():
    with pytest.raises(StateCorrupt, match="not understood"):
        decode_record(b'{"kind": "hologram"}')

from __future__ import annotations

import pytest
from recorded_runs import MODES, end_calls, run_of, step_calls, stored_calls
from scripted_run import ScriptedRun, make_plan

from producer.folder.moments import Moments
from producer.folder.rollouts import EXPIRED, Scope, collect, locate
from producer.records import decode_record, encode_records
from skillopt.domain.events import Finished, Measured, Reflected, Selected, StepStarted
from skillopt.domain.outcome import LedgerLine
from skillopt.domain.steering_events import GaveUp, LeftOut
from skillopt.errors import StateCorrupt


def baseline(run: ScriptedRun):
    plan = run.plan
    scope = Scope("baseline", plan.initial_key, "val", plan.splits.val, range(1))
    return collect(run.state, stored_calls(run), locate(run.state, run, scope), scope)


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
    job = run.factory.rollout(run.plan.initial_key, run.plan.initial, run.plan.splits.val[0], 0).id
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


def test_a_result_that_came_after_the_task_was_given_up_is_not_shown():
    run = ScriptedRun().until(Measured)
    job = baseline(run)[0].rollout
    run.record(GaveUp(jobs={job: "timeout: no answer in 120 s"}))
    record = baseline(run)[0]
    assert (record.outcome, record.hard, record.reply) == ("missing", None, None)


def test_a_task_that_a_person_left_out_says_so_and_has_no_score():
    run = ScriptedRun().until(Measured)
    run.record(LeftOut(items={"val-alpha": "its answer is wrong"}))
    record = baseline(run)[0]
    assert (record.outcome, record.hard, record.reply) == ("left_out", None, None)
    assert record.problem == "a person left the task out: its answer is wrong"


@pytest.mark.parametrize("mode", MODES)
def test_every_optimizer_call_of_a_run_is_found_again_long_after_it(mode):
    run = run_of(mode).finish()
    assert isinstance(run.events[-1], Finished)
    found = [record for step in run.state.steps for record in step_calls(run, step.started.step)]
    found += [record for epoch in run.state.epoch_ends for record in end_calls(run, epoch)]
    for record in found:
        assert (record.outcome, record.problem) == ("scored", "")
        assert record.reply is not None
        assert record.receipt.calls == 1
        assert record.messages[0].role == "system"
    made = {job for job, wanted in run.performed.items() if wanted.role == "optimizer"}
    assert {record.job for record in found} == made


@pytest.mark.parametrize(
    ("mode", "stages"),
    [
        ("edits", {"reflect_failure", "merge", "rank"}),
        ("rewrite", {"reflect_failure", "merge", "rank", "rewrite"}),
        ("full rewrite", {"reflect_failure", "merge"}),
        ("autonomous", {"reflect_failure", "merge", "learning_rate", "rank"}),
        ("notes", {"reflect_failure", "merge", "rank", "consolidate"}),
        ("several samples", {"reflect_contrast", "merge", "rank"}),
        ("short", {"reflect_failure", "merge", "rank", "compress"}),
    ],
)
def test_the_calls_of_each_stage_are_among_a_steps_records(mode, stages):
    run = run_of(mode).finish()
    calls = [call for step in run.state.steps for call in step_calls(run, step.started.step)]
    assert {call.call for call in calls} >= stages


def test_the_calls_of_an_epochs_end_name_the_tasks_compared():
    run = run_of("slow update").finish()
    epoch, end = next((e, end) for e, end in run.state.epoch_ends.items() if end.compared.pairs)
    calls = end_calls(run, epoch)
    assert [call.call for call in calls] == ["slow_update", "meta_skill"]
    assert {call.items for call in calls} == {tuple(pair.item for pair in end.compared.pairs)}


@pytest.mark.parametrize("mode", MODES)
def test_no_two_calls_of_a_stage_have_the_same_label(mode):
    run = run_of(mode).finish()
    for step in run.state.steps:
        labels = [record.label for record in step_calls(run, step.started.step)]
        assert len(labels) == len(set(labels))


def test_merges_of_one_level_have_labels_of_their_own():
    settings = {
        "train": {"num_epochs": 1, "batch_size": 8},
        "gradient": {"minibatch_size": 1, "merge_batch_size": 2},
    }
    run = ScriptedRun(make_plan(settings=settings)).until(Selected)
    merges = [record for record in step_calls(run) if record.call == "merge"]
    labels = [record.label for record in merges]
    assert labels[:2] == ["step 1 / merge failure 1", "step 1 / merge failure 1 (2)"]
    assert len(set(labels)) == len({record.job for record in merges}) == len(labels)


def test_a_result_that_came_after_the_analysis_does_not_change_its_prompt():
    run = ScriptedRun(make_plan(settings={"evaluation": {"min_coverage": 0.5}})).until(StepStarted)
    item = next(one for one in run.plan.splits.train if one.id in run.events[-1].items)
    job = run.factory.rollout(run.plan.initial_key, run.plan.initial, item, 0)
    run.record(GaveUp(jobs={job.id: "no answer"}))
    run.until(Selected)
    before = step_calls(run)
    assert all(item.id not in record.items for record in before)
    run.perform(run.factory.wanted_rollout(job, run.plan.initial, item, "late"))
    judge = run.factory.judge(item, run.ledger[job.id].digest)
    run.perform(run.factory.wanted_judge(judge, run.body(job.id), item, "late"))
    assert step_calls(run) == before


def test_a_prompt_is_the_one_that_was_sent_although_the_document_changed_since():
    run = run_of("slow update").finish()
    assert run.state.current != run.plan.initial_key
    first = next(call for call in step_calls(run, 1) if call.call == "reflect_failure")
    assert run.plan.skill.strip() in first.messages[1].content
    lesson = run.state.meta_skill
    assert lesson
    assert lesson not in first.messages[1].content


def test_a_repair_is_a_call_of_its_own():
    run = ScriptedRun(garbles=True).until(Selected)
    labels = [record.label for record in step_calls(run)]
    assert "step 1 / reflect failure 0" in labels
    assert "step 1 / reflect failure 0 / repair" in labels


def test_an_analysis_names_the_tasks_it_was_shown():
    run = ScriptedRun().until(Selected)
    shown = [item for r in step_calls(run) if r.call == "reflect_failure" for item in r.items]
    assert sorted(shown) == sorted(run.state.steps[0].started.items)


def test_an_expired_optimizer_reply_is_missing_and_keeps_its_prompt():
    run = ScriptedRun().until(Selected)
    first = step_calls(run)[0]
    del run.store.results[first.job]
    again = step_calls(run)[0]
    assert (again.job, again.outcome, again.reply) == (first.job, "missing", None)
    assert again.messages == first.messages


def test_an_analysis_whose_attempts_expired_is_missing_without_its_prompt():
    run = ScriptedRun().until(Reflected)
    run.store.results.clear()
    records = step_calls(run)
    assert [(r.outcome, r.job, r.messages) for r in records[:2]] == [("missing", None, None)] * 2


def test_records_survive_writing_and_reading():
    run = ScriptedRun().until(Selected)
    records = [*baseline(run), *step_calls(run)]
    assert [decode_record(line) for line in encode_records(records).splitlines()] == records


def test_a_line_that_is_no_record_is_an_error():
    with pytest.raises(StateCorrupt, match="not understood"):
        decode_record(b'{"kind": "hologram"}')


def test_a_comparison_whose_attempts_expired_is_missing_without_its_prompts():
    run = run_of("slow update").finish()
    assert {call.outcome for call in end_calls(run, 2)} == {"scored"}
    item = next(p.item for p in run.state.epoch_ends[2].compared.pairs if "fail" in p.change)
    for job, wanted in run.performed.items():
        if f" / {item} / " in wanted.label:
            run.store.results.pop(job)
    records = end_calls(run, 2)
    assert [record.call for record in records] == ["slow_update", "meta_skill"]
    assert {(r.outcome, r.job, r.messages) for r in records} == {("missing", None, None)}


def test_a_log_that_lacks_an_event_of_the_state_is_an_error():
    run = ScriptedRun().until(Reflected)
    moments = Moments(run.plan, lambda: run.events[:-1])
    with pytest.raises(StateCorrupt, match="lacks an event"):
        moments.of(run.state.steps[0].reflected)

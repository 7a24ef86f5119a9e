from __future__ import annotations

import pytest
from sample_runs import (
    BETTER,
    HOSTILE,
    INITIAL,
    WORSE,
    console,
    events,
    measurement,
    plan,
    rollout,
    shown,
    state,
    summary,
    written,
)

from producer.records import CallReceipt, OptimizerRecord
from producer.view.call_page import call_page, receipt_words
from producer.view.curve import CurvePoint, curve_points, legend, plot
from producer.view.diff import skill_diff
from producer.view.final import final_report
from producer.view.run_page import run_page, step_row
from producer.view.step_page import step_page
from skillopt.domain.documents import Documents
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.messages import Message
from skillopt.loop.fold import fold

ESC = "\x1b"
FIRST, BEST = Documents(skill=INITIAL), Documents(skill=BETTER)


def squeezed(text: str) -> str:
    """The text without the line breaks and frames of a table."""
    return " ".join(text.replace("│", " ").replace("┃", " ").split())


# --- the end of a run ---------------------------------------------------------------------------


def test_the_final_report_has_scores_with_n_and_interval_counts_cost_and_folder():
    text = squeezed(shown(*final_report(summary(), initial=FIRST, best=BEST)))
    assert "finished: the validation score is at its maximum" in text
    assert "initial (step 0) 0.500 0.500 0.500 0.500" in text
    assert f"{short(text_hash(INITIAL))} n=2 [0.09, 0.91] n=2 [0.09, 0.91]" in text
    assert "best (step 3) 1.000 1.000 1.000 1.000" in text
    assert f"{short(text_hash(BETTER))} n=2 [0.34, 1.00] n=2 [0.34, 1.00]" in text
    assert "Steps: 3 (1 accepted, 1 rejected, 1 skipped)" in text
    assert "Calls: 15 (target 12, optimizer 3, judge 0), 7 cache hits" in text
    assert "Tokens: 1,500 in, 250 out; cost: $0.0123; time: 8.2 s" in text
    assert "Run folder: /runs/briefs-1" in text
    assert "+- End with the line DONE." in text
    assert "0 model calls" not in text


def test_what_was_not_measured_is_a_dash():
    text = squeezed(shown(*final_report(summary(state(upto=2)))))
    assert "initial (step 0) 0.500 0.500 - -" in text
    assert "running" in text
    assert "The same command continues this run." in text


def test_a_further_run_is_not_continued_by_asking_for_a_further_one():
    text = squeezed(shown(*final_report(summary(state(upto=2)), new=True)))
    assert "The same command without --new continues this run." in text


def test_partial_coverage_is_shown_beside_n():
    of = plan()
    partial = events(of)[1].model_copy(
        update={"measurement": measurement(INITIAL, "val", v1=1.0, v2=None)}
    )
    text = squeezed(shown(*final_report(summary(fold(of, [events(of)[0], partial])))))
    assert "n=1 [0.21, 1.00]" in text
    assert "coverage 50%" in text


def test_an_unpriced_run_is_not_shown_as_free():
    text = shown(*final_report(summary(priced=False)))
    assert "cost: not priced" in text
    assert "$0" not in text


def test_a_command_that_called_no_model_says_so():
    text = shown(*final_report(summary(new_calls=0)))
    assert "0 model calls: this run was finished before." in text


def test_a_new_run_that_had_everything_from_the_cache_was_not_finished_before():
    free = summary(new_calls=0)
    free = free.model_copy(
        update={"calls": free.calls.model_copy(update={"target": 0, "optimizer": 0, "total": 0})}
    )
    assert "0 model calls: every result came from the cache." in shown(*final_report(free))


def test_calls_paid_again_and_warnings_are_shown():
    text = shown(*final_report(summary(repaid_calls=2, warnings=(f"odd {HOSTILE}",))))
    assert "Paid again after a loss: 2 calls" in text
    assert "warning: odd [bold red]boo[/]" in text
    assert ESC not in text


# --- one run, step, call ------------------------------------------------------------------------


def test_the_overview_lists_every_step_with_verdict_and_reason():
    text = squeezed(shown(*run_page(state(), summary(), ascii_only=False, measured_work=True)))
    assert "rejected: hard stayed: 0.500 to 0.500 (1 improved, 1 regressed)" in text
    assert "skipped: the edits leave the document as it is" in text
    assert "accepted, new best: hard rose from 0.500 to 1.000" in text
    assert "Calls: 15" in text


def test_the_overview_of_a_run_without_summary_claims_no_calls():
    text = shown(*run_page(state(upto=2), summary(), ascii_only=True, measured_work=False))
    assert "Calls:" not in text
    assert "no step yet" in text


def test_a_step_shows_groups_edits_reports_gate_and_difference():
    run = state()
    text = shown(*step_page(run, run.steps[0]))
    assert "failure group 0: ok, 1 edit from t1" in text
    assert "1. append (failure): applied append" in text
    assert "because of: t1" in text
    assert "hard: 0.500 before, 0.500 with the candidate, on 2 tasks" in text
    assert "improved" in text
    assert "regressed" in text
    assert "+- Answer in one word." in text


def test_texts_of_models_are_shown_literally_in_a_step():
    run = state()
    text = shown(*step_page(run, run.steps[0]))
    assert "content: [bold red]boo[/] [31mred[0m bell esrever" in text
    assert ESC not in text
    assert "\x07" not in text


def test_a_step_as_a_program_reads_it():
    rows = [step_row(step) for step in state().steps]
    assert [row["outcome"] for row in rows] == ["rejected", "skipped", "accepted"]
    assert rows[0]["candidate"] == text_hash(WORSE)
    assert rows[1]["candidate_score"] is None


def test_a_call_shows_messages_reply_checks_tokens_and_worker():
    text = shown(*call_page(rollout()))
    assert "[sent: system]" in text
    assert "[bold red]boo[/]" in text
    assert "[link=file:///etc]reply[/link]" in text
    assert "FAIL contains 'DONE': it does not" in text
    assert "pass at most 50 words" in text
    assert "score: hard 0.000, soft 0.500" in text
    assert "done by w1 in 1.5 s: 1 call, 10 tokens in, 5 out, $0" in text
    assert "a" * 64 in text
    assert ESC not in text


def test_a_trajectory_that_ends_with_the_reply_shows_it_once():
    said = Message(role="assistant", content="the one reply")
    text = shown(*call_page(rollout(messages=(said, said), reply="the one reply")))
    assert text.count("the one reply") == 2
    assert "[answered]" in text


def test_colours_are_ours_alone_on_a_terminal():
    text = shown(*call_page(rollout()), terminal=True)
    assert "\x1b[31mred" not in text
    assert "]8;" not in text


def test_a_missing_result_is_said_not_scored():
    text = shown(
        *call_page(
            rollout(outcome="missing", messages=None, reply=None, receipt=None, hard=None,
                    soft=None, criteria=(), problem="rate_limited: slow down")
        )
    )  # fmt: skip
    assert "missing: no score, which is not a zero" in text
    assert "score: hard -, soft -" in text
    assert "problem: rate_limited: slow down" in text
    assert "no messages are stored" in text


def test_a_cached_reply_says_who_first_made_it_and_unknown_prices_stay_unknown():
    receipt = CallReceipt(worker="w9", calls=1, from_cache=True)
    assert receipt_words(receipt, priced=False).startswith("from the cache, first done by w9")
    assert receipt_words(receipt, priced=False).endswith("not priced")


def test_an_optimizer_call_names_its_stage_and_tasks():
    record = OptimizerRecord(
        stage="step 1 / reflect",
        step=1,
        outcome="scored",
        call="reflect_failure",
        label="step 1 / reflect failure 0",
        job="c" * 64,
        items=("t1", "t2"),
        reply="{}",
        backend="gpt",
        params={"temperature": 0.2, "extra_body": {"top_k": 1}},
        reply_schema="reflect_failure-patch",
    )
    text = shown(*call_page(record))
    assert "step 1 / reflect failure 0" in text
    assert "tasks shown: t1, t2" in text
    assert 'backend: gpt, temperature 0.2, extra_body {"top_k": 1}' in text
    assert "reply form: reflect_failure-patch" in text
    bare = record.model_copy(update={"params": {}})
    assert "backend: gpt, no parameters" in shown(*call_page(bare))


# --- difference and curve -----------------------------------------------------------------------


def test_the_difference_is_a_unified_diff_with_colours():
    drawn = skill_diff(INITIAL, BETTER)
    assert "--- initial" in drawn.plain
    assert "+++ best" in drawn.plain
    assert "+- End with the line DONE." in drawn.plain
    assert "\x1b[32m+- End" in shown(drawn, terminal=True)


def test_equal_documents_have_no_difference():
    assert skill_diff(INITIAL, INITIAL).plain == ("The initial and the best document are the same.")


def test_a_missing_line_end_is_visible_and_control_characters_are_not():
    drawn = skill_diff("a\n", f"a\nb {ESC}[31m")
    assert drawn.plain.endswith("+b [31m\n\\ No newline at end of file")


def test_the_curve_follows_accepted_rejected_and_skipped_steps():
    assert curve_points(state()) == [
        CurvePoint("0", 0.5),
        CurvePoint("1", 0.5, rejected=0.5),
        CurvePoint("2", 0.5),
        CurvePoint("3", 1.0, best=True),
    ]


def test_the_curve_marks_best_and_rejected():
    drawn = plot(curve_points(state()), width=60, ascii_only=False).plain
    assert drawn.count("★") == 1
    assert drawn.count("×") == 1  # noqa: RUF001 - the mark of a rejected candidate
    assert "1.00" in drawn
    assert drawn.splitlines()[-1].split() == ["0", "1", "2", "3"]


def test_an_ascii_terminal_gets_an_ascii_plot():
    drawn = plot(curve_points(state()), width=60, ascii_only=True).plain + legend(ascii_only=True)
    assert drawn.isascii()
    assert "*" in drawn


@pytest.mark.parametrize("width", [10, 25, 80])
@pytest.mark.parametrize("count", [1, 2, 40, 300])
def test_a_curve_of_any_length_fits_its_width(width, count):
    points = [
        CurvePoint(str(i), (i % 7) / 7, rejected=1.0 if i % 3 else None) for i in range(count)
    ]
    drawn = plot(points, width=width, ascii_only=False).plain
    assert max(len(line) for line in drawn.splitlines()) <= max(width, 12)


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_flat_curve_can_be_drawn(value):
    assert "●" in plot([CurvePoint("0", value)], width=40, ascii_only=False).plain


@pytest.mark.parametrize("value", [0.0, 0.1, 0.3, 0.7])
def test_no_label_of_a_curve_is_below_zero(value):
    drawn = plot([CurvePoint("0", 0.0), CurvePoint("1", value)], width=40, ascii_only=True).plain
    assert "0.00 |" in drawn
    assert "-0.00" not in drawn


def test_nothing_measured_has_no_curve():
    assert curve_points(state(upto=1)) == []
    assert "no validation score yet" in plot([], width=40, ascii_only=True).plain


def test_a_console_can_be_read_back():
    screen = console()
    screen.print("x")
    assert written(screen) == "x\n"

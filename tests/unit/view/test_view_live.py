from __future__ import annotations

import pytest
from recorded_runs import run_of
from sample_runs import HOSTILE, console, events, plan, state, written
from scripted_run import ScriptedRun, make_plan

from producer.view.live import PLAIN_PROGRESS_S, LiveView, Snapshot, render
from skillopt.domain.events import Measured
from skillopt.domain.steering_events import LeftOut, Paused
from skillopt.domain.view import RunView
from skillopt.state.ports import Spend

SPEND = Spend(
    calls={"target": 20, "optimizer": 4}, input_tokens=900, output_tokens=100, micro_usd=2_500
)


def snapshot(
    elapsed_s: float = 1.0, *, upto: int = 10, priced: bool = True, **view: object
) -> Snapshot:
    values = {"stage": "step 3 / gate", "done": 5, "total": 12, "in_flight": 4, "cache_hits": 6}
    shown_view = RunView.model_validate({**values, **view})
    return Snapshot(state(upto=upto), shown_view, SPEND, elapsed_s, priced)


def screen(of: Snapshot, *, encoding: str = "utf-8") -> str:
    to = console(encoding=encoding)
    to.print(render(of, 6, to))
    return written(to)


def test_the_screen_shows_stage_progress_calls_tokens_spend_curve_and_verdicts():
    text = screen(snapshot(75.0))
    assert "briefs" in text
    assert "step 2 of 6" in text
    assert "1 min 15 s" in text
    assert "step 3: measuring the candidate on val" in text
    assert "5/12" in text
    assert "4 in flight, 24 calls, 6 cache hits, 1,000 tokens, cost $0.0025" in text
    assert "calls by role: target 20, optimizer 4" in text
    assert "val hard by step" in text
    assert "step 1 rejected: hard stayed: 0.500 to 0.500 (1 improved, 1 regressed)" in text
    assert "step 2 skipped:" in text


def test_unknown_prices_are_not_shown_as_zero():
    text = screen(snapshot(priced=False))
    assert "cost not priced" in text
    assert "$" not in text


def test_the_reason_for_waiting_is_shown_literally():
    text = screen(snapshot(waiting=f"throttled by gpt {HOSTILE}"))
    assert "waiting: throttled by gpt [bold red]boo[/] [31mred[0m bell" in text
    assert "\x1b" not in text


def test_a_run_that_has_measured_nothing_can_be_shown():
    text = screen(snapshot(upto=1, stage="", done=0, total=0))
    assert "starting" in text
    assert "no validation score yet" in text


def test_the_last_screen_says_how_the_run_ended():
    text = screen(snapshot(upto=16))
    assert "finished: the validation score is at its maximum" in text
    assert "measuring" not in text


def test_an_ascii_terminal_gets_ascii_only():
    assert screen(snapshot(), encoding="ascii").isascii()


def test_on_a_terminal_the_screen_is_drawn_and_left_behind():
    to = console(terminal=True)
    with LiveView(to, enabled=True, total_steps=6) as view:
        view.update(snapshot())
        view.event(Paused(why="budget", detail="max_calls is 24"))
    text = written(to)
    assert "\x1b[" in text
    assert "step 2 of 6" in text
    assert "paused: the budget is used up: max_calls is 24" in text


@pytest.mark.parametrize("terminal", [True, False])
def test_without_the_screen_every_event_is_one_plain_line(terminal):
    to = console(terminal=terminal, width=40)
    run = plan()
    with LiveView(to, enabled=not terminal, total_steps=6) as view:
        view.update(snapshot(2.5))
        for event in events(run):
            view.event(event)
    text = written(to)
    assert "\x1b" not in text
    lines = text.splitlines()
    assert all(line.startswith("[    2.5 s] ") for line in lines)
    assert (
        "[    2.5 s] step 1: rejected: hard stayed: 0.500 to 0.500 (1 improved, 1 regressed)"
        in (lines)
    )


def test_plain_progress_comes_with_a_new_stage_and_now_and_then():
    to = console()
    with LiveView(to, enabled=False, total_steps=6) as view:
        view.update(snapshot(1.0))
        view.update(snapshot(2.0, done=6))
        view.update(snapshot(3.0, stage="final test", done=0))
        view.update(snapshot(3.0 + PLAIN_PROGRESS_S, stage="final test", done=2, waiting="slow"))
    lines = written(to).splitlines()
    assert len(lines) == 3
    assert "step 3: measuring the candidate on val, 5 of 12 done, 4 in flight" in lines[0]
    assert "measuring the documents on test" in lines[1]
    assert lines[2].endswith("waiting: slow")


def test_a_finished_run_logs_no_progress():
    to = console()
    with LiveView(to, enabled=False, total_steps=6) as view:
        view.update(snapshot(1.0, upto=16))
    assert written(to) == ""


def test_an_error_inside_the_view_is_not_swallowed():
    to = console(terminal=True)
    with pytest.raises(RuntimeError, match="boom"), LiveView(to, enabled=True, total_steps=1):
        raise RuntimeError("boom")


def test_what_was_in_flight_is_no_news_once_the_run_has_ended():
    text = screen(snapshot(upto=99, waiting="for a worker of backend 'gpt'"))
    assert "finished" in text
    assert "in flight" not in text
    assert "a worker of backend" not in text


def test_the_screen_shows_the_ends_of_epochs_among_the_last_verdicts():
    run = run_of("slow update").finish()
    text = screen(Snapshot(run.state, RunView(stage="finished"), SPEND, 1.0))
    assert "epoch 2 slow update accepted, new best: hard rose from 0.500 to 0.750" in text
    assert "epoch 3 slow update rejected: hard fell" in text


def test_tasks_that_are_left_out_are_told_above_the_screen():
    to = console(terminal=True)
    with LiveView(to, enabled=True, total_steps=6) as view:
        view.update(snapshot())
        view.event(LeftOut(items={"v1": "wrong"}))
    assert "1 task left out of every comparison from now on: v1 (wrong)" in written(to)


def test_an_aa_run_has_no_curve_and_says_what_it_measures():
    run = ScriptedRun(make_plan(mode="aa")).until(Measured)
    text = screen(Snapshot(run.state, RunView(stage="arm 2", done=1, total=4), SPEND, 1.0))
    assert "measuring the document on val, time 2" in text
    assert "by step" not in text

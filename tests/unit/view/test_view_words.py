from __future__ import annotations

import pytest
from sample_runs import HOSTILE, accept, created, events, measurement, plan, reject, state

from producer.view import numbers
from producer.view.printable import one_line, printable
from producer.view.words import (
    event_words,
    measurement_words,
    stage_words,
    status_words,
    step_words,
    waiting_words,
)
from skillopt.domain.events import GaveUp, Paused, Resumed, Skipped
from skillopt.domain.spec import Budget


def test_every_event_is_one_printable_line():
    for event in events(plan()):
        words = event_words(event)
        assert words
        assert words == one_line(words, 1000)


def test_a_verdict_names_step_result_scores_and_changes():
    assert event_words(reject(3)) == (
        "step 3: rejected: hard stayed: 0.500 to 0.500 (1 improved, 1 regressed)"
    )
    assert event_words(accept(3)).startswith("step 3: accepted, new best: hard rose from 0.500")


def test_a_measurement_counts_missing_tasks_instead_of_scoring_them():
    words = measurement_words(measurement("x", "val", v1=1.0, v2=None))
    assert "hard 1.000" in words
    assert "(n=1, 1 missing)" in words


def test_a_measurement_without_any_score_shows_a_dash():
    assert "hard -, soft - (n=0, 1 missing)" in measurement_words(measurement("x", "val", v1=None))


@pytest.mark.parametrize(
    ("stage", "words"),
    [
        ("baseline", "measuring the initial document on val"),
        ("step 3 / gate", "step 3: measuring the candidate on val"),
        ("step 12 / rollout", "step 12: trying the train tasks"),
        ("step 2 / novel", "step 2: novel"),
        ("something else", "something else"),
        ("", "starting"),
    ],
)
def test_stages_are_said_in_words_and_unknown_ones_as_they_are(stage, words):
    assert stage_words(stage) == words


def test_a_pause_says_why_and_for_what():
    paused = Paused(why="coverage", detail="baseline: 2 of 8 items have no score")
    assert event_words(paused) == (
        "paused: too many tasks have no score: baseline: 2 of 8 items have no score"
    )


def test_a_resumption_says_what_may_be_spent_now():
    budget = Budget(max_calls=2000, max_usd=5, max_minutes=1.5)
    assert event_words(Resumed(budget=budget)) == (
        "resumed, budget: at most 2,000 calls, 1.5 minutes, $5.00"
    )
    assert event_words(Resumed()) == "resumed, budget: no limit"


def test_jobs_given_up_are_counted_and_their_reasons_named_once():
    words = event_words(GaveUp(jobs={"a": "auth: refused", "b": "auth: refused"}))
    assert words == "2 jobs cannot be run for now: auth: refused"


def test_the_status_follows_the_state():
    assert status_words(state()).startswith("finished: the validation score is at its maximum")
    assert status_words(state(upto=1)).startswith("not finished, nothing measured yet: it is run")


def test_the_reason_for_waiting_is_said_once():
    assert waiting_words("throttled by gpt") == "waiting: throttled by gpt"
    assert waiting_words("waiting for a worker of 'sim'") == "waiting for a worker of 'sim'"
    assert waiting_words("") == ""


def test_a_step_says_what_came_of_it():
    steps = state().steps
    assert step_words(steps[0]).startswith("rejected: ")
    assert step_words(steps[1]).startswith("skipped: the edits leave the document as it is")
    assert step_words(state(upto=3).steps[0]) == "under way"


def test_reasons_from_models_cannot_reach_the_terminal():
    skipped = Skipped(step=1, reason="too_long", detail=f"{HOSTILE}\nsecond line")
    words = event_words(skipped)
    assert "\x1b" not in words
    assert "\n" not in words
    assert "\u202e" not in words


def test_printable_keeps_what_is_to_be_read():
    assert printable("tab\tnew\r\nline é 日本 👩‍💻") == "tab\tnew\nline é 日本 👩‍💻"
    assert printable("\x1b[2J\x9b31m\x7f\x00ok\u2066") == "[2J31mok"


def test_created_names_the_run():
    assert plan().run_id in event_words(created(plan()))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "not priced"), (0.0, "$0"), (0.01234, "$0.0123"), (12.345, "$12.35")],
)
def test_unknown_money_is_not_zero(value, shown):
    assert numbers.dollars(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "100%"), (0.9999, "99.9%"), (0.5, "50%"), (None, "-")]
)
def test_a_share_is_never_rounded_up_to_all(value, shown):
    assert numbers.share(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(3.21, "3.2 s"), (75, "1 min 15 s"), (3725, "1 h 02 min")]
)
def test_durations_read_like_clocks(seconds, shown):
    assert numbers.duration(seconds) == shown


def test_counts_have_the_right_noun():
    assert numbers.plural(1, "reply", "replies") == "1 reply"
    assert numbers.plural(0, "edit") == "0 edits"

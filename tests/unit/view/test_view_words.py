from __future__ import annotations

import pytest
from recorded_runs import MODES, run_of
from sample_runs import HOSTILE, accept, created, events, measurement, plan, reject, state

from producer.view import numbers
from producer.view.outcomes import measurement_words, outcome_of, outcome_words
from producer.view.printable import one_line, printable
from producer.view.stages import stage_words, status_words, waiting_words
from producer.view.words import event_words
from skillopt.domain.changes import SUGGESTION_TYPES, Rewrite, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.events import (
    BudgetDecided,
    Compared,
    Gated,
    Measured,
    Merged,
    MetaLearned,
    Noted,
    Proposed,
    Reflected,
    Selected,
    Skipped,
    StepStarted,
)
from skillopt.domain.reports import GroupReport, MergeReport, Pair
from skillopt.domain.run import EpochEnd
from skillopt.domain.spec import Budget
from skillopt.domain.steering_events import GaveUp, LeftOut, Paused, Resumed
from skillopt.loop.decide import decide


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
        ("step 2 / budget", "step 2: asking how many changes to apply"),
        ("step 2 / appendix", "step 2: collecting reminders for rules that exist"),
        ("step 2 / update", "step 2: writing the candidate"),
        (
            "epoch 1 / compare",
            "epoch 1: trying train tasks with this epoch's first and last document",
        ),
        ("epoch 1 / slow update", "epoch 1: asking for lasting guidance"),
        ("epoch 1 / meta skill", "epoch 1: asking what editing has taught"),
        ("epoch 1 / slow update gate", "epoch 1: measuring the document with new guidance on val"),
        ("arm 2", "measuring the document on val, time 2"),
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
        "paused: too many results are missing: baseline: 2 of 8 items have no score"
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
    assert outcome_words(steps[0]).startswith("rejected: ")
    assert outcome_words(steps[1]).startswith("skipped: the edits leave the document as it is")
    assert outcome_words(state(upto=3).steps[0]) == "under way"


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


# --- the modes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_every_event_of_every_mode_is_one_printable_line(mode):
    for event in run_of(mode).finish().events:
        words = event_words(event)
        assert words == one_line(words, 1000)
        assert "_" not in words.replace("max_skill_tokens", "")
        assert "None" not in words


def test_a_step_without_a_limit_says_so():
    started = StepStarted(step=1, epoch=1, skill="a" * 64, items=("t",), edit_budget=None)
    assert event_words(started) == "step 1: epoch 1, 1 task, no limit of changes"
    limited = started.model_copy(update={"edit_budget": 1})
    assert event_words(limited).endswith("1 task, at most 1 change")


def test_changes_are_counted_under_the_name_of_their_form():
    suggestion = Suggestion(type=SUGGESTION_TYPES[0], instruction="say it")
    rewrite = Rewrite(new_skill="all new")
    assert "2 suggestions after merging" in event_words(Merged(step=1, edits=(suggestion,) * 2))
    assert "1 rewrite after merging" in event_words(Merged(step=1, edits=(rewrite,)))
    assert "0 edits selected" in event_words(Selected(step=1, edits=(), how="none"))


def test_unusable_merges_and_blocked_copies_are_said():
    report = MergeReport(branch="failure", level=1, inputs=3, status="fallback", problem="no JSON")
    merged = Merged(step=2, edits=(), merges=(report,), blocked=(Edit(op="append"),))
    assert event_words(merged) == (
        "step 2: 0 edits after merging, 1 merge unusable, all proposals kept, "
        "1 blocked as copied from tasks"
    )


def test_an_analysis_tells_of_reminders_and_of_what_was_blocked():
    group = GroupReport(
        shard=0,
        kind="contrast",
        items=("t1",),
        status="ok",
        notes=("Mind the line.",),
        blocked=(Edit(op="append", content="x", copied_from=("t1",)),),
    )
    batch = measurement("x", "train", t1=0.5)
    words = event_words(Reflected(step=1, batch=batch, groups=(group,)))
    assert words.endswith("1 analysis proposed 0 edits, 1 reminder, 1 blocked as copied from tasks")


def test_the_optimizers_choice_of_a_budget_comes_with_its_reason():
    decided = BudgetDecided(
        step=2, edit_budget=1, reasoning=f"one {HOSTILE}\nwill do", confidence=0.7, status="ok"
    )
    words = event_words(decided)
    assert words.startswith("step 2: the optimizer chose to apply 1 change, confidence 0.70: one")
    assert "\x1b" not in words
    assert "\n" not in words
    lost = BudgetDecided(step=2, edit_budget=4, status="fallback", problem="not JSON")
    assert event_words(lost) == (
        "step 2: no usable answer on how many changes to apply (not JSON): 4 changes as scheduled"
    )


def test_reminders_are_counted_new_and_in_all():
    noted = Noted(step=3, notes=("a", "b", "c"), added=("c",))
    assert event_words(noted) == "step 3: 1 new reminder, 3 in the appendix"
    condensed = noted.model_copy(update={"status": "consolidated"})
    assert event_words(condensed).endswith("3 in the appendix, condensed")


def compared(*changes: str) -> Compared:
    pairs = tuple(Pair(item=f"t{n}", change=change) for n, change in enumerate(changes))
    sampled = tuple(pair.item for pair in pairs)
    return Compared(
        epoch=2, previous="a" * 64, current="b" * 64, policy="mixed", sampled=sampled, pairs=pairs
    )


def test_a_comparison_counts_what_became_of_the_tasks():
    words = event_words(compared("regressed", "improved", "improved", "stable_success"))
    assert words == (
        f"epoch 2: document {'b' * 16} beside {'a' * 16} on 4 tasks (pairs: mixed): "
        "2 improved, 1 regressed, 1 still passing"
    )
    assert event_words(compared()).endswith("on 0 tasks (pairs: mixed): no pair to learn from")
    same = compared("stable_success").model_copy(update={"previous": "b" * 64})
    assert event_words(same) == (
        f"epoch 2: document {'b' * 16} as the epoch before left it, on 1 task (pairs: mixed): "
        "1 still passing"
    )


@pytest.mark.parametrize("mode", MODES)
def test_every_stage_of_every_mode_has_words(mode):
    run = run_of(mode)
    stages = set()
    while run.advance():
        stages.add(decide(run.state, run, run.factory).stage)
    for stage in stages - {"", "paused", "finished"}:
        words = stage_words(stage)
        assert words.rpartition(": ")[2] != stage.rpartition(" / ")[2]


def test_a_meta_skill_is_shown_and_a_lost_one_says_that_the_last_one_stays():
    learnt = MetaLearned(epoch=2, content="Short edits\nhelp.", status="ok")
    assert event_words(learnt) == "epoch 2: meta skill learnt: Short edits help."
    kept = MetaLearned(epoch=2, content="", status="kept", problem="not JSON")
    assert event_words(kept) == ("epoch 2: no usable meta skill, the last one stays (not JSON)")


def candidate(**changes: object) -> Proposed:
    values = {"step": 4, "parent": "a" * 64, "skill": "b" * 64, "text": "new", **changes}
    return Proposed.model_validate(values)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"how": "rewrite"}, "step 4: candidate bbbbbbbbbbbbbbbb, rewritten"),
        (
            {"how": "compressed"},
            "step 4: candidate bbbbbbbbbbbbbbbb, compressed to fit max_skill_tokens",
        ),
        (
            {"how": "guidance", "source": "slow_update"},
            "slow update after step 4: candidate bbbbbbbbbbbbbbbb, with new lasting guidance",
        ),
        (
            {"how": "rewrite", "copied_from": ("t1",), "problem": "a marker was removed"},
            "step 4: candidate bbbbbbbbbbbbbbbb, rewritten, repeats the text of t1, "
            "a marker was removed",
        ),
    ],
)
def test_a_candidate_says_how_it_came_about(changes, words):
    assert event_words(candidate(**changes)) == words


@pytest.mark.parametrize("reason", Skipped.model_fields["reason"].annotation.__args__)
def test_every_reason_for_a_skip_has_words(reason):
    words = event_words(Skipped(step=1, reason=reason, source="slow_update", detail="why"))
    assert words.startswith("slow update after step 1: skipped: ")
    assert words.endswith(" (why)")
    assert reason not in words


def gated(**changes: object) -> Gated:
    return reject(1).model_copy(update=changes)


def test_a_verdict_that_force_overruled_says_both():
    words = event_words(gated(forced=True))
    assert words.startswith("step 1: rejected, kept by force: hard stayed")
    assert event_words(accept(1).model_copy(update={"forced": True})).startswith(
        "step 1: accepted, new best: "
    )


def test_an_early_verdict_and_an_underpowered_one_are_named_as_such():
    assert event_words(gated(early=True)).startswith("step 1: rejected early: ")
    assert event_words(gated(verdict="underpowered")).startswith("step 1: underpowered: ")


def test_tasks_left_out_are_named_with_the_reason():
    words = event_words(LeftOut(items={"v1": "wrong answer", "v2": ""}))
    assert words == ("2 tasks left out of every comparison from now on: v1 (wrong answer), v2")


def test_a_later_arm_says_which_it_is():
    first = Measured(measurement=measurement("x", "val", v1=1.0))
    assert event_words(first).startswith("document ")
    assert event_words(first.model_copy(update={"arm": 1})).startswith("time 2: document ")


def test_a_measurement_counts_tasks_left_out_apart_from_missing_ones():
    of = measurement("x", "val", v1=1.0, v2=None)
    out = of.items["v2"].model_copy(update={"status": "left_out"})
    words = measurement_words(of.model_copy(update={"items": {**of.items, "v3": out}}))
    assert "(n=1, 1 missing, 1 left out)" in words


def test_an_epochs_end_says_what_came_of_the_slow_update_and_the_meta_skill():
    end = EpochEnd(compared())
    assert outcome_words(end) == outcome_of(end) == "under way"
    learnt = MetaLearned(epoch=2, content="Short edits help.", status="ok")
    lesson = EpochEnd(compared(), meta=learnt)
    assert outcome_words(lesson) == "meta skill learnt: Short edits help."
    both = EpochEnd(compared(), proposed=candidate(), gated=accept(4), meta=learnt)
    assert outcome_words(both).startswith("slow update accepted, new best: hard rose")
    assert outcome_words(both).endswith("; meta skill learnt: Short edits help.")

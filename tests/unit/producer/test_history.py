from __future__ import annotations

import json

import pytest
from recorded_runs import MODES, run_of
from scripted_run import ScriptedRun, make_plan

from producer.folder.history import history_bytes
from skillopt.domain.events import Gated, MetaLearned, Reflected
from skillopt.loop.fold import fold


def rows_of(run: ScriptedRun) -> list[dict]:
    return [json.loads(line) for line in history_bytes(run.state).splitlines()]


@pytest.mark.parametrize("mode", MODES)
def test_current_and_best_of_each_row_are_those_of_the_run_at_that_point(mode):
    run = run_of(mode).finish()
    expected = []
    for number, event in enumerate(run.events, start=1):
        state = fold(run.plan, run.events[:number])
        if event.type == "skipped" or (isinstance(event, Gated) and event.verdict != "indecisive"):
            expected.append((event.step, event.source, state.current, state.best, state.best_step))
    found = [
        (row["step"], row["kind"], row["current"], row["best"], row["best_step"])
        for row in rows_of(run)
    ]
    assert found == expected
    assert found


@pytest.mark.parametrize("mode", MODES)
def test_the_rows_do_not_depend_on_the_order_of_arrival(mode):
    at_once, one_by_one = run_of(mode).finish(), run_of(mode, order_seed=3).finish()
    assert history_bytes(at_once.state) == history_bytes(one_by_one.state)


def test_rows_hold_nothing_of_times_workers_and_calls():
    run = run_of("slow update").finish()
    keys = {key for row in rows_of(run) for key in row}
    assert not {key for key in keys if any(w in key for w in ("time", "second", "worker", "call"))}


def test_a_row_begins_with_what_it_is_about():
    for row in rows_of(run_of("slow update").finish()):
        assert list(row)[:3] == ["kind", "step", "epoch"]


def test_a_slow_update_has_a_row_after_the_last_step_of_its_epoch():
    run = run_of("slow update").finish()
    rows = [(row["kind"], row["epoch"], row["step"]) for row in rows_of(run)]
    assert rows == [
        ("step", 1, 1), ("step", 1, 2),
        ("step", 2, 3), ("step", 2, 4), ("slow_update", 2, 4),
        ("step", 3, 5), ("step", 3, 6), ("slow_update", 3, 6),
    ]  # fmt: skip
    slow = rows_of(run)[4]
    assert (slow["how"], slow["action"]) == ("guidance", "accept_new_best")
    assert slow["pair_changes"] == {"persistent_fail": 4, "stable_success": 4}
    assert (slow["pair_policy"], slow["n_sampled"]) == ("mixed", 8)


def test_a_slow_update_that_is_under_way_has_no_row():
    run = run_of("slow update").until(Gated)
    while run.events[-1].type != "proposed" or run.events[-1].source != "slow_update":
        assert run.advance()
    assert [row["kind"] for row in rows_of(run)] == ["step"] * 4


def test_an_epochs_end_that_only_teaches_the_optimizer_has_no_row():
    settings = {"optimizer": {"use_meta_skill": True, "use_slow_update": False}}
    run = ScriptedRun(make_plan(settings=settings)).until(MetaLearned)
    assert {row["kind"] for row in rows_of(run)} == {"step"}


def test_a_candidate_kept_by_force_is_current_but_never_best():
    run = run_of("forced").finish()
    forced = [row for row in rows_of(run) if row["action"] == "force_accept"]
    assert forced
    for row in forced:
        assert (row["forced"], row["verdict"]) == (True, "reject")
        assert row["current"] == row["candidate"] != row["best"]
    accepted = [row for row in rows_of(run) if row["action"] == "accept_new_best"]
    assert all(row["best"] == row["candidate"] for row in accepted)


def test_an_underpowered_gate_keeps_its_figures():
    run = run_of("several samples").finish()
    row = next(row for row in rows_of(run) if row["action"] == "underpowered")
    assert row["p_value"] > row["level"] > 0
    assert row["current"] == run.plan.initial_key


def test_an_early_rejection_says_so():
    run = run_of("early").finish()
    row = rows_of(run)[0]
    assert (row["early"], row["action"]) == (True, "reject")
    assert row["pairs"] < len(run.plan.splits.val)


def test_the_budget_that_the_optimizer_chose_stands_beside_the_scheduled_one():
    row = rows_of(run_of("autonomous").finish())[0]
    assert (row["edit_budget"], row["budget_decided"], row["budget_status"]) == (2, 2, "ok")
    assert rows_of(run_of("edits").finish())[0]["budget_decided"] is None
    assert rows_of(run_of("no limit").finish())[0]["edit_budget"] is None


def test_notes_and_the_form_of_the_update_are_counted():
    noted = rows_of(run_of("notes").finish())[0]
    assert (noted["n_notes_added"], noted["notes_status"]) == (1, "consolidated")
    assert rows_of(run_of("rewrite").finish())[0]["how"] == "rewrite"
    assert rows_of(run_of("short").finish())[0]["how"] == "compressed"


def test_what_the_copy_guard_took_out_is_counted():
    run = ScriptedRun().until(Reflected)
    event = run.events[-1]
    group = event.groups[0].model_copy(update={"blocked": event.groups[0].edits})
    events = [*run.events[:-1], event.model_copy(update={"groups": (group, *event.groups[1:])})]
    run.events, run.state = events, fold(run.plan, events)
    row = rows_of(run.finish())[0]
    assert row["n_blocked"] == len(group.edits) > 0


def test_both_documents_count_in_the_length_of_a_candidate():
    run = run_of("memory").finish()
    proposed = run.state.steps[0].proposed
    row = rows_of(run)[0]
    assert row["candidate_length"] == len(proposed.text) + len(proposed.memory)


def test_problems_are_told_by_stage():
    run = run_of("autonomous").finish()
    step = run.state.steps[0]
    events = [
        event.model_copy(update={"problem": "not JSON"}) if event == step.budget else event
        for event in run.events
    ]
    run.state = fold(run.plan, events)
    assert rows_of(run)[0]["problem"] == "budget: not JSON"

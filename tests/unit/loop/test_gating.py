from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import pytest
from gate_bench import GateBench
from loop_values import measurement

from skillopt.domain.events import Gated
from skillopt.domain.steering_events import Paused

#: In the gate's order: d, e, f have most to gain; then a, b, c as in the file.
HALF = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": 0.0, "f": 0.0}


def test_the_most_telling_tasks_are_wanted_first():
    assert GateBench(HALF).wanted() == ["d / 0", "e / 0", "f / 0", "a / 0", "b / 0", "c / 0"]


def test_an_accepted_candidate_is_measured_on_every_task():
    bench = GateBench(HALF)
    assert not bench.answer_all(d=1.0, e=1.0, f=1.0, a=1.0, b=1.0).events
    bench.answer("c", 1.0)
    gated = bench.gated()
    assert (gated.verdict, gated.early, gated.forced, gated.new_best) == (
        "accept",
        False,
        False,
        True,
    )
    assert (gated.candidate_score, gated.current_score, gated.pairs) == (1.0, 0.5, 6)
    assert set(gated.measurement.items) == set(HALF)
    assert bench.after().current == bench.after().best == bench.key


def test_a_hopeless_candidate_is_rejected_as_soon_as_that_is_certain():
    bench = GateBench(HALF)
    assert not bench.answer_all(d=0.0, e=0.0).events
    bench.answer("f", 0.0)
    decision = bench.look()
    (gated,) = decision.events
    assert not decision.wanted
    assert isinstance(gated, Gated)
    assert (gated.verdict, gated.early, gated.pairs) == ("reject", True, 3)
    assert list(gated.measurement.items) == ["d", "e", "f"]
    assert (gated.candidate_score, gated.current_score) == (0.0, 0.0)
    assert gated.reason == (
        "cannot be accepted any more after 3 of 6 tasks: even with full marks on the other 3 "
        "the mean hard would not rise"
    )


def test_part_of_a_measurement_never_counts_as_one():
    bench = GateBench(HALF)
    bench.answer_all(d=0.0, e=0.0, f=0.0)
    after = bench.after()
    assert (bench.key, "val") not in after.measured
    assert bench.key in after.rejected
    assert after.current == bench.state.current


def test_the_record_is_the_same_in_whatever_order_results_arrive():
    """The prefix that decided is recorded, not what happened to be there."""
    brought = {"d": 0.0, "e": 1.0, "f": 0.0, "a": 0.0, "b": 0.0}
    records = set()
    for order in permutations(brought):
        bench = GateBench(HALF)
        for name in order:
            bench.answer(name, brought[name])
            if bench.look().events:
                break
        records.add(bench.gated().model_dump_json())
    assert len(records) == 1


def test_results_beyond_a_gap_decide_nothing_yet():
    bench = GateBench(HALF)
    assert not bench.answer_all(e=0.0, f=0.0, a=0.0, b=0.0, c=0.0).events
    assert bench.wanted() == ["d / 0"]
    bench.answer("d", 0.0)
    assert list(bench.gated().measurement.items) == ["d", "e", "f"]


def test_several_samples_of_a_task_count_once_all_are_there():
    bench = GateBench({"a": 1.0, "b": 0.5}, {"samples": 2})
    assert bench.wanted() == ["b / 0", "b / 1", "a / 0", "a / 1"]
    bench.answer("b", 0.0, 0)
    assert not bench.look().events
    bench.answer("b", 1.0, 1)
    gated = bench.gated()
    assert (gated.early, list(gated.measurement.items)) == (True, ["b"])
    assert gated.measurement.items["b"].hard == 0.5


def test_without_early_decision_every_task_is_measured():
    bench = GateBench(HALF, {"early_decision": False})
    assert not bench.answer_all(d=0.0, e=0.0, f=0.0, a=0.0, b=0.0).events
    bench.answer("c", 0.0)
    gated = bench.gated()
    assert (gated.verdict, gated.early, gated.pairs) == ("reject", False, 6)
    assert (bench.key, "val") in bench.after().measured


def test_a_decision_that_takes_all_tasks_is_not_early():
    bench = GateBench({"a": 0.0, "b": 0.0})
    bench.answer_all(a=0.0, b=0.0)
    gated = bench.gated()
    assert (gated.verdict, gated.early) == ("reject", False)
    assert gated.reason == "hard stayed: 0.000 to 0.000 (0 improved, 0 regressed)"


def test_a_task_left_out_is_not_waited_for_and_shows_in_the_record():
    bench = GateBench({"a": 1.0, "b": 0.0, "c": 1.0})
    bench.state = replace(bench.state, left_out={"b": "broken"})
    gated = bench.gated()
    assert (gated.verdict, gated.early) == ("reject", True), "nothing else can be gained"
    bench = GateBench({"a": 0.0, "b": 0.0, "c": 1.0})
    bench.state = replace(bench.state, left_out={"b": "broken"})
    bench.answer_all(a=1.0, c=1.0)
    gated = bench.gated()
    assert (gated.verdict, gated.pairs) == ("accept", 2)
    assert gated.measurement.items["b"].status == "left_out"


def test_a_protected_task_that_got_worse_ends_the_gate_at_once():
    bench = GateBench({"a": 0.5, "b": 0.0, "c": 0.0}, {"samples": 2, "no_regression": ["b", "a"]})
    for sample in (0, 1):
        for name in ("b", "c"):
            bench.answer(name, 1.0, sample)
        assert not bench.look().events
    bench.answer("a", 0.0, 0)
    bench.answer("a", 0.0, 1)
    assert bench.gated().reason.endswith("protected tasks got worse: a")
    bench = GateBench({"a": 0.5, "b": 1.0, "c": 1.0}, {"samples": 2, "no_regression": ["all"]})
    bench.answer("a", 0.0, 0)
    bench.answer("a", 0.0, 1)
    gated = bench.gated()
    assert (gated.early, gated.regressed) == (True, ("a",))


class TestForced:
    @pytest.mark.parametrize(
        ("evaluation", "forced"),
        [({"use_gate": False}, None), ({}, True), ({"use_gate": False}, True)],
    )
    def test_a_forced_candidate_is_measured_in_full_and_becomes_current(self, evaluation, forced):
        bench = GateBench(HALF, evaluation, forced=forced)
        worse = dict.fromkeys(HALF, 0.0)
        assert not bench.answer_all(**{**worse, "c": "missing"}).wanted
        bench = GateBench(HALF, evaluation, forced=forced)
        del worse["c"]
        assert not bench.answer_all(**worse).events, "no early decision"
        bench.answer("c", 0.0)
        gated = bench.gated()
        assert (gated.verdict, gated.forced, gated.new_best) == ("reject", True, False)
        after = bench.after()
        assert (after.current, after.best) == (bench.key, bench.state.best)
        assert after.measured[(bench.key, "val")].hard == 0.0

    def test_a_forced_candidate_that_passes_is_the_best_too(self):
        bench = GateBench(HALF, {"use_gate": False})
        bench.answer_all(**dict.fromkeys(HALF, 1.0))
        assert (bench.gated().verdict, bench.gated().new_best) == ("accept", True)

    def test_the_gate_may_be_kept_for_one_source_only(self):
        bench = GateBench(HALF, {"use_gate": False}, forced=False)
        bench.answer_all(**dict.fromkeys(HALF, 0.0))
        assert (bench.gated().verdict, bench.gated().forced) == ("reject", False)
        assert bench.after().current == bench.state.current

    def test_after_a_forced_one_the_best_must_be_beaten_too(self):
        """Better than a worse document is not yet better than the best."""
        low = measurement("low", **dict.fromkeys(HALF, 0.0))
        for passes, new_best in ((3, False), (4, True)):
            bench = GateBench(HALF)
            known = {**bench.state.measured, ("low", "val"): low}
            bench.state = replace(bench.state, current="low", measured=known)
            names = ["a", "b", "c", "d", "e", "f"]
            bench.answer_all(**{name: float(names.index(name) < passes) for name in names})
            assert (bench.gated().verdict, bench.gated().new_best) == ("accept", new_best)

    @pytest.mark.parametrize(("forced", "verdict"), [(True, "accept"), (False, "reject")])
    def test_small_gains_of_forced_ones_may_sum_up_to_a_better_document(self, forced, verdict):
        """None of the last steps is more than chance, all of them together are."""
        bench = GateBench(dict.fromkeys("abcdefgh", 0.0), {"significance": 0.05}, forced=forced)
        almost = measurement("almost", **{**dict.fromkeys("abcdefgh", 1.0), "h": 0.0, "a": 0.0})
        known = {**bench.state.measured, ("almost", "val"): almost}
        bench.state = replace(bench.state, current="almost", measured=known, best=bench.state.best)
        bench.answer_all(**{**dict.fromkeys("abcdefgh", 1.0), "b": 0.0, "c": 0.0, "d": 0.5})
        gated = bench.gated()
        assert (gated.verdict, gated.new_best) == (verdict, forced)
        assert bench.after().best == (bench.key if forced else bench.state.best)
        if forced:
            assert gated.reason.startswith("better than the best document: hard rose from 0.000")
            assert gated.p_value == 1 / 64

    def test_a_forced_candidate_with_missing_results_pauses_the_run(self):
        bench = GateBench(HALF, {"use_gate": False})
        bench.answer_all(**{**dict.fromkeys(HALF, 1.0), "c": "missing"})
        gated, paused = bench.look().events
        assert isinstance(gated, Gated)
        assert (gated.verdict, gated.forced, gated.adopted) == ("indecisive", True, False)
        assert isinstance(paused, Paused)
        assert "1 of 6 items have no score (c)" in paused.detail
        assert bench.after().current == bench.state.current


class TestIndecisive:
    def test_missing_results_pause_the_run_and_are_named(self):
        bench = GateBench(HALF)
        bench.answer_all(**{**dict.fromkeys(HALF, 1.0), "d": "missing", "a": "missing"})
        gated, paused = bench.look().events
        assert isinstance(gated, Gated)
        assert isinstance(paused, Paused)
        assert (gated.verdict, gated.early, paused.why) == ("indecisive", False, "coverage")
        assert "2 of 6 items have no score (d, a)" in paused.detail
        assert "no connection" in paused.detail

    def test_a_protected_task_without_a_result_pauses_it_too(self):
        bench = GateBench(HALF, {"min_coverage": 0.5, "no_regression": ["a"]})
        bench.answer_all(**{**dict.fromkeys(HALF, 1.0), "a": "missing"})
        gated, paused = bench.look().events
        assert isinstance(gated, Gated)
        assert isinstance(paused, Paused)
        assert (gated.verdict, paused.why) == ("indecisive", "coverage")
        assert paused.detail == "gate: protected tasks have no score: a"

    def test_what_is_certain_needs_no_pause(self):
        """Missing tasks behind the deciding ones could not have changed anything."""
        bench = GateBench(HALF)
        bench.answer_all(**{**dict.fromkeys(HALF, 0.0), "c": "missing"})
        assert (bench.gated().verdict, bench.gated().early) == ("reject", True)

    def test_it_spends_nothing_and_is_judged_again_at_the_same_level(self):
        bench = GateBench(HALF, {"significance": 0.3})
        bench.answer_all(**{**dict.fromkeys(HALF, 1.0), "d": "missing"})
        assert (bench.gated().verdict, bench.gated().level) == ("indecisive", 0.3)
        again = replace(bench.after(), paused=None, given_up={})
        bench.state = again
        bench.answer("d", 1.0)
        assert (bench.gated().verdict, bench.gated().level) == ("accept", 0.3)


class TestSignificance:
    def test_p_and_level_are_recorded(self):
        bench = GateBench(HALF, {"significance": 0.2})
        bench.answer_all(**dict.fromkeys(HALF, 1.0))
        gated = bench.gated()
        assert (gated.verdict, gated.p_value, gated.level) == ("accept", 0.125, 0.2)

    def test_a_gain_that_could_not_be_told_from_chance_is_underpowered(self):
        bench = GateBench(HALF, {"significance": 0.1})
        bench.answer_all(**dict.fromkeys(HALF, 1.0))
        gated = bench.gated()
        assert (gated.verdict, gated.adopted, gated.early) == ("underpowered", False, False)
        assert bench.key in bench.after().rejected

    def test_an_early_rejection_has_spent_its_level_all_the_same(self):
        bench = GateBench(HALF, {"significance": 0.2})
        bench.answer_all(d=0.0, e=0.0, f=0.0)
        gated = bench.gated()
        assert (gated.early, gated.level, gated.p_value) == (True, 0.2, None)

from __future__ import annotations

import pytest
from epoch_values import crowded, two_epochs
from loop_values import look, of_type
from scripted_run import ScriptedRun

from skillopt.domain.events import Compared, StepStarted
from skillopt.domain.jobs import OptimizeSpec, RolloutSpec
from skillopt.domain.reports import Pair
from skillopt.domain.steering_events import GaveUp, LeftOut, Paused, Resumed
from skillopt.loop import sample
from skillopt.loop.pairs import kept_pairs

ALL = [
    Pair(item="a", change="improved"),
    Pair(item="b", change="regressed"),
    Pair(item="c", change="persistent_fail"),
    Pair(item="d", change="stable_success"),
]


def compared(run: ScriptedRun) -> Compared:
    return of_type(run.until(Compared), Compared)[-1]


def at_compare(run: ScriptedRun) -> ScriptedRun:
    """Stop where the first comparison wants its rollouts, none of them done yet."""
    while not look(run).stage.endswith("compare"):
        assert run.advance()
    return run


def rollouts(run: ScriptedRun) -> list[tuple[str, str]]:
    """Give the attempts that a decision wants: which document, which task."""
    return [
        (job.label.split(" / ")[1].removeprefix("compare "), job.label.split(" / ")[2])
        for job in look(run).wanted
        if isinstance(job.spec, RolloutSpec)
    ]


# --- which documents, which tasks ---------------------------------------------------------------


def test_the_previous_document_is_the_one_the_epoch_began_with():
    run = crowded()
    event = compared(run)
    first = next(e for e in of_type(run, StepStarted) if e.epoch == 2)
    assert event.previous == first.skill
    assert event.current == run.state.current != event.previous


def test_tasks_are_drawn_in_the_order_of_the_epoch_end():
    plan = two_epochs(slow_update_samples=4)
    event = compared(crowded(plan))
    assert event.sampled == tuple(task.id for task in sample.slow_order(plan, 2)[:4])


def test_a_sample_is_at_most_all_train_tasks():
    event = compared(crowded(two_epochs(slow_update_samples=500)))
    assert sorted(event.sampled) == sorted(f"train-{n}" for n in range(8))


def test_both_documents_are_rolled_out_together_and_known_results_are_not_wanted():
    run = at_compare(crowded())
    known = {attempt for attempt in run.ledger}
    wanted = rollouts(run)
    assert {arm for arm, _ in wanted} == {"previous", "current"}
    assert not known & {job.id for job in look(run).wanted}
    # The fourth step rolled its batch out with the document that the third one left.
    assert len(wanted) < 16


def test_a_document_that_did_not_change_is_rolled_out_once():
    run = at_compare(ScriptedRun(two_epochs(learning_rate=0)))
    wanted = [job.id for job in look(run).wanted]
    assert len(wanted) == len(set(wanted)) == 8
    changes = {pair.change for pair in compared(run).pairs}
    assert changes == {"persistent_fail"}


# --- policies -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "kept"), [("mixed", "abcd"), ("changed", "ab"), ("unchanged", "cd")]
)
def test_a_policy_keeps_its_sort_of_pair(policy, kept):
    assert [pair.item for pair in kept_pairs(ALL, policy)] == list(kept)


def test_mixed_keeps_every_sort():
    changes = {pair.change for pair in compared(crowded()).pairs}
    assert changes == {"improved", "regressed", "persistent_fail", "stable_success"}


def test_changed_tops_up_in_one_batch_of_all_other_tasks():
    run = at_compare(crowded(two_epochs(longitudinal_pair_policy="changed", slow_update_samples=3)))
    order = [task.id for task in sample.slow_order(run.plan, 2)]
    assert {task for _, task in rollouts(run)} <= set(order[:3])
    while {task for _, task in rollouts(run)} <= set(order[:3]):
        run.advance()
    beyond = {task for _, task in rollouts(run)}
    assert beyond <= set(order[3:])
    assert len(beyond) > 1, "one after the other"
    event = compared(run)
    assert event.sampled == tuple(order)
    changed = [pair.item for pair in event.pairs]
    assert len(changed) == 3
    assert changed == [task for task in order if task in changed], "the first ones, in order"


def test_changed_needs_no_top_up_when_the_sample_has_enough():
    event = compared(crowded(two_epochs(longitudinal_pair_policy="changed", slow_update_samples=1)))
    assert (len(event.sampled), len(event.pairs)) == (1, 1)


def test_unchanged_never_tops_up():
    event = compared(
        crowded(two_epochs(longitudinal_pair_policy="unchanged", slow_update_samples=5))
    )
    assert len(event.sampled) == 5
    assert {pair.change for pair in event.pairs} <= {"persistent_fail", "stable_success"}
    assert 0 < len(event.pairs) < 5


def test_changed_buys_nothing_for_a_document_that_did_not_change():
    run = ScriptedRun(two_epochs(learning_rate=0, longitudinal_pair_policy="changed")).finish()
    [event] = of_type(run, Compared)
    assert event.sampled == event.pairs == ()
    assert not [job for job in run.performed.values() if "compare" in job.label]


# --- results that are not there -----------------------------------------------------------------


def lose(run: ScriptedRun, task: str) -> str:
    """Give up one attempt of the comparison; do the others."""
    lost = next(job for job in look(run).wanted if f" / {task} / " in job.label)
    run.record(GaveUp(jobs={lost.id: "timeout: no answer in 120 s"}))
    while run.state.status == "running" and not isinstance(run.events[-1], Compared):
        run.advance()
    return lost.id


def test_a_missing_result_pauses_the_run_and_is_never_a_failure():
    undisturbed = compared(crowded())
    run = at_compare(crowded())
    lose(run, "train-7")
    assert isinstance(run.events[-1], Paused)
    assert "train-7" in run.events[-1].detail
    run.record(Resumed())
    assert compared(run) == undisturbed


def test_with_enough_coverage_a_task_without_both_results_is_no_pair():
    run = at_compare(crowded(two_epochs(evaluation={"min_coverage": 0.5})))
    lose(run, "train-7")
    event = compared(run)
    assert "train-7" in event.sampled
    assert "train-7" not in [pair.item for pair in event.pairs]


def test_a_task_that_a_person_leaves_out_is_no_pair_and_lets_the_run_go_on():
    run = at_compare(crowded())
    lose(run, "train-7")
    run.record(LeftOut(items={"train-7": "its tool is gone"}))
    run.record(Resumed())
    assert "train-7" not in [pair.item for pair in compared(run).pairs]
    assert run.finish().state.finished


def test_an_invalid_task_is_left_out_as_a_pair():
    run = crowded()
    run.models.filtered = "train-5"
    event = compared(run)
    assert "train-5" in event.sampled
    assert "train-5" not in [pair.item for pair in event.pairs]


def test_nothing_is_asked_before_the_comparison_is_complete():
    run = at_compare(crowded(order_seed=3))
    while not isinstance(run.events[-1], Compared):
        assert not [job for job in look(run).wanted if isinstance(job.spec, OptimizeSpec)]
        run.advance()

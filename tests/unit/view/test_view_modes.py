"""The pages of runs of every mode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from recorded_runs import MODES, end_calls, run_of, step_calls
from sample_runs import HOSTILE, shown
from scripted_run import Models, ScriptedRun, make_plan

from producer.summary import Summary, summarize
from producer.view.curve import CurvePoint, curve_points, plot
from producer.view.diff import documents_diff
from producer.view.epoch_page import epoch_page, epoch_row
from producer.view.final import final_report
from producer.view.run_page import run_page, step_row
from producer.view.step_page import step_page
from skillopt.domain.changes import Suggestion
from skillopt.domain.documents import Documents
from skillopt.domain.edits import Edit
from skillopt.domain.events import BudgetDecided, Measured
from skillopt.domain.run import StepState
from skillopt.domain.steering_events import LeftOut
from skillopt.state.ports import Spend


def summary_of(run: ScriptedRun) -> Summary:
    return summarize(
        run.state, skill="S", spend=Spend(), cache_hits=0, seconds=1.0, run_dir="r", priced=True
    )


def squeezed(*parts: object) -> str:
    """What is shown, without the line breaks and frames of tables."""
    return " ".join(shown(*parts).replace("│", " ").replace("┃", " ").split())


def overview(run: ScriptedRun) -> str:
    return squeezed(*run_page(run.state, summary_of(run), ascii_only=False, measured_work=True))


def step_text(run: ScriptedRun, number: int = 1, step: StepState | None = None) -> str:
    return squeezed(*step_page(run.state, step or run.state.steps[number - 1]))


@pytest.mark.parametrize("mode", MODES)
def test_every_page_of_every_mode_can_be_shown(mode):
    run = run_of(mode).finish()
    pages = [final_report(summary_of(run), initial=run.plan.initial, best=run.plan.initial)]
    pages += [step_page(run.state, s, step_calls(run, s.started.step)) for s in run.state.steps]
    pages += [epoch_page(run.state, e, end_calls(run, n)) for n, e in run.state.epoch_ends.items()]
    for page in pages:
        text = squeezed(*page)
        assert text
        assert "None" not in text
    assert "None" not in overview(run)


def test_a_step_of_suggestions_shows_what_they_ask_for():
    text = step_text(run_of("rewrite").finish())
    assert "Selected suggestions" in text
    assert "1. add_rule (high, failure): Always say alpha." in text
    assert "because: it failed" in text
    assert "do: Always say alpha." in text
    assert "rewritten" in text


def test_a_step_of_whole_rewrites_shows_their_summary_and_size():
    text = step_text(run_of("full rewrite").finish())
    assert "Selected rewrites" in text
    assert "1. rewrite (failure): more words" in text
    assert "a whole text of" in text


def test_a_step_shows_the_budget_that_was_decided_its_reason_and_its_risks():
    run = run_of("autonomous").finish()
    text = step_text(run)
    assert "How many changes to apply the optimizer chose to apply 2 changes" in text
    risky = BudgetDecided(
        step=1, edit_budget=1, status="ok", reasoning="small", risk_notes=("may not hold",)
    )
    step = replace(run.state.steps[0], budget=risky)
    assert "risk: may not hold" in step_text(run, step=step)


def test_a_step_shows_its_reminders_and_which_are_new():
    run = run_of("notes").finish()
    text = step_text(run)
    assert "Reminders (appendix) 1 new reminder, 1 in the appendix, condensed" in text
    assert "+ Mind the words" in text
    assert "reminder: Mind the words" in text


def test_blocked_and_flagged_changes_name_the_tasks_they_repeat():
    run = run_of("edits").finish()
    step = run.state.steps[0]
    copied = Edit(op="append", content=f"Say {HOSTILE}", copied_from=("train-1", "train-2"))
    other = Suggestion(type="clarify", instruction="Be clear")
    group = step.reflected.groups[0].model_copy(update={"blocked": (copied, other)})
    changed = replace(
        step,
        reflected=step.reflected.model_copy(update={"groups": (group,)}),
        selected=step.selected.model_copy(update={"edits": (copied,)}),
    )
    page = shown(*step_page(run.state, changed))
    assert "blocked: append 'Say [bold red]boo[/]" in page
    assert "copied from task train-1, train-2" in page
    assert "blocked: suggestion 'Be clear'" in page
    assert page.count("copied from task train-1, train-2") == 2
    assert "\x1b" not in page


def test_a_gate_says_chance_level_and_what_was_not_enough():
    run = run_of("several samples").finish()
    text = step_text(run)
    gated = run.state.steps[0].gated
    assert gated.verdict == "underpowered"
    assert (
        f"chance of such a gain between equal documents: {gated.p_value:.3g}; "
        f"this gate may spend {gated.level:.3g} of the run's error"
    ) in text
    assert "no result of this size could be accepted" in text
    row = step_row(run.state.steps[0])
    assert (row["outcome"], row["p_value"], row["level"]) == (
        "underpowered", gated.p_value, gated.level,
    )  # fmt: skip


def test_an_early_gate_says_after_how_many_tasks_it_was_decided():
    run = run_of("early").finish()
    gated = run.state.steps[0].gated
    n = len(gated.measurement.items)
    text = step_text(run)
    assert f"decided after {n} of 4 tasks: the others could not have changed" in text
    absent = {one.id for one in run.plan.splits.val} - set(gated.measurement.items)
    assert absent
    assert not any(f"{item} " in text.split("Change of the document")[0] for item in absent)


def test_a_gate_that_force_overruled_says_so_everywhere():
    run = run_of("forced").finish()
    number = next(
        s.started.step for s in run.state.steps if s.gated and s.gated.verdict == "reject"
    )
    assert "forced: the candidate becomes current whatever the verdict" in step_text(run, number)
    assert "rejected, kept by force" in overview(run)
    assert "of them kept by force)" in overview(run)


def test_the_overview_has_the_ends_of_epochs_between_the_steps():
    run = run_of("slow update").finish()
    text = overview(run)
    assert "Slow updates: 2 (1 accepted, 1 rejected, 0 skipped)" in text
    assert "Meta skill: learnt 2 times" in text
    assert text.index("slow update accepted, new best") < text.index("slow update rejected")
    assert "best (slow update after step 4)" in text


def test_the_end_of_an_epoch_shows_comparison_guidance_gate_lesson_and_calls():
    run = run_of("slow update").finish()
    end, calls = run.state.epoch_ends[2], end_calls(run, 2)
    text = squeezed(*epoch_page(run.state, end, calls))
    assert "End of epoch 2" in text
    failing = ", ".join(p.item for p in end.compared.pairs if p.change == "persistent_fail")
    assert f"still failing: {failing}" in text
    assert "with new lasting guidance" in text
    assert "accepted, new best: hard rose from 0.500 to 0.750" in text
    assert "+<!-- SLOW_UPDATE_START -->" in text
    assert f"Meta skill (for the optimizer only) {end.meta.content}" in text
    assert f"{calls[0].job[:16]} epoch 2 / slow update" in text
    row = epoch_row(end)
    assert (row["epoch"], row["outcome"], row["meta_skill"]) == (2, "accepted", "ok")


def test_a_memory_is_compared_beside_the_skill():
    run = run_of("memory").finish()
    number = next(
        s.started.step
        for s in run.state.steps
        if s.proposed and s.proposed.memory != run.state.texts[s.proposed.parent].memory
    )
    text = step_text(run, number)
    assert "memory +++ candidate" in text
    assert "append of the memory" in text
    best = run.state.texts[run.state.best]
    drawn = documents_diff(run.plan.initial, best).plain
    assert "--- initial\n" in drawn
    assert "--- initial memory\n" in drawn


def test_documents_that_differ_in_one_text_show_that_one_only():
    before = Documents(skill="a\n", memory="m\n")
    drawn = documents_diff(before, before.with_text("memory", "n\n")).plain
    assert drawn.startswith("--- initial memory")
    assert documents_diff(before, before).plain.endswith("are the same.")


def test_tasks_left_out_are_shown_in_overview_and_gate():
    run = ScriptedRun().until(Measured)
    run.record(LeftOut(items={"val-unknown": "nobody knows it"}))
    run.finish()
    assert "val-unknown (nobody knows it)" in overview(run)
    assert "val-unknown 0.000 / 0.000 left out -" in step_text(run)


def test_the_curve_has_slow_updates_and_no_partial_scores():
    run = run_of("slow update").finish()
    points = curve_points(run.state)
    assert [point.label for point in points] == ["0", "1", "2", "3", "4", "e2", "5", "6", "e3"]
    assert points[5] == CurvePoint("e2", 0.75, best=True)
    assert [point.best for point in points].count(True) == 1
    assert points[8] == CurvePoint("e3", 0.75, rejected=0.5)
    assert "e2" in plot(points, width=76, ascii_only=True).plain
    early = curve_points(run_of("early").finish().state)
    assert [point.rejected for point in early] == [None] * len(early)


def test_the_curve_follows_what_force_made_current():
    run = run_of("forced").finish()
    adopted = [step.gated for step in run.state.steps if step.gated]
    points = {point.label: point for point in curve_points(run.state)}
    for gated in adopted:
        assert points[str(gated.step)].current == gated.measurement.hard
        assert points[str(gated.step)].rejected is None


def test_scores_by_tag_stand_beside_each_other():
    plan = make_plan()
    tagged = tuple(one.model_copy(update={"tags": ("greek",)}) for one in plan.splits.val[:3])
    splits = plan.splits.model_copy(update={"val": (*tagged, plan.splits.val[3])})
    run = ScriptedRun(plan.model_copy(update={"splits": splits})).finish()
    text = overview(run)
    assert "tag val initial val best test initial test best" in text
    assert "greek 0.000 n=3 1.000 n=3 - -" in text
    assert "greek" in squeezed(*final_report(summary_of(run)))


def test_an_evaluation_shows_its_tags():
    plan = make_plan(mode="eval", eval_split="val")
    tagged = tuple(one.model_copy(update={"tags": ("greek",)}) for one in plan.splits.val)
    plan = plan.model_copy(update={"splits": plan.splits.model_copy(update={"val": tagged})})
    assert "greek 0.000 n=4 0.000" in overview(ScriptedRun(plan).finish())


def test_an_aa_run_shows_each_measurement_and_the_noise_between_them():
    plan = make_plan(mode="aa", arms=2, skill="Always say alpha.\nAlways say beta.\n")
    run = ScriptedRun(plan, models=Models(spread=0.6)).finish()
    for text in (overview(run), squeezed(*final_report(summary_of(run)))):
        assert "finished: the document was measured 2 times on val" in text
        assert "time 1" in text
        assert "time 2" in text
        assert "Noise: the mean hard of one document differs by" in text
        assert "of 2 comparisons of the document with itself" in text
    assert "measuring" not in overview(run)


def test_several_samples_say_how_they_count():
    run = run_of("several samples").finish()
    assert "several samples" in squeezed(*final_report(summary_of(run)))
    assert "several samples" not in squeezed(*final_report(summary_of(run_of("edits").finish())))

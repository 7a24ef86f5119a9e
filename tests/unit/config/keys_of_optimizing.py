"""What `optimizer` changes within a step: how many changes, in which form, how long a document."""

from __future__ import annotations

from key_runs import LoopRow, asked, budgets, first, seen, stages
from scripted_run import ScriptedRun
from setting_models import PRAISE, Fickle, Reminding

from skillopt.domain.changes import Rewrite, Suggestion
from skillopt.domain.edits import Edit
from skillopt.domain.events import BudgetDecided, Noted, Proposed, Selected, Skipped
from skillopt.domain.notes import notes_in
from skillopt.domain.skill import SkillDocument

SKILL_AWARE = {"optimizer.use_skill_aware_reflection": True, "train.samples": 2}
FOUR_STEPS = {"train.num_epochs": 2, "optimizer.learning_rate": 8}


def edits_per_step(one: ScriptedRun, three: ScriptedRun) -> None:
    for run, rate in ((one, 1), (three, 3)):
        assert budgets(run) == [rate] * 4
        assert all(len(chosen.edits) <= rate for chosen in seen(run, Selected))
        assert f"Propose at most {rate} edit" in asked(run, "reflect_failure")[0]
    assert [len(first(run, Selected).edits) for run in (one, three)] == [1, 2]


def edits_at_the_end(none: ScriptedRun, four: ScriptedRun) -> None:
    assert budgets(none) == [6, 4, 2, 0]
    assert budgets(four) == [7, 6, 5, 4]
    last = seen(none, Skipped)[-1]
    assert (last.step, last.detail) == (4, "the edit budget of this step is 0")


def schedules(constant: ScriptedRun, linear: ScriptedRun, cosine: ScriptedRun) -> None:
    assert budgets(constant) == [8, 8, 8, 8]
    assert budgets(linear) == [6, 4, 2, 0]
    assert budgets(cosine) == [7, 4, 1, 0]


def control(fixed: ScriptedRun, autonomous: ScriptedRun, none: ScriptedRun) -> None:
    assert [len(first(run, Selected).edits) for run in (fixed, autonomous, none)] == [1, 2, 4]
    assert budgets(fixed)[0] == budgets(autonomous)[0] == 1
    decided = first(autonomous, BudgetDecided)
    assert (decided.edit_budget, decided.status) == (2, "ok")
    assert "learning_rate" in stages(autonomous) - stages(fixed) - stages(none)
    assert budgets(none)[0] is None
    assert "There is no limit" in asked(none, "reflect_failure")[0]
    assert "rank" in stages(fixed) - stages(none)


def forms_of_change(patch: ScriptedRun, suggest: ScriptedRun, whole: ScriptedRun) -> None:
    expected = (
        (patch, Edit, "edits", "Answer with edits."),
        (suggest, Suggestion, "rewrite", "Answer with revise_suggestions."),
        (whole, Rewrite, "rewrite", "Answer with skill_candidates."),
    )
    for run, kind, how, form in expected:
        assert {type(change) for change in first(run, Selected).edits} == {kind}
        assert first(run, Proposed).how == how
        assert form in asked(run, "reflect_failure")[0]
    assert [("rewrite" in stages(run)) for run in (patch, suggest, whole)] == [False, True, False]
    assert budgets(whole)[0] is None, "a whole document cannot be counted in edits"


def longest_document(unlimited: ScriptedRun, fits: ScriptedRun, too_short: ScriptedRun) -> None:
    assert "compress" not in stages(unlimited)
    assert "Be brief." in first(unlimited, Proposed).text
    shorter = first(fits, Proposed)
    assert shorter.how == "compressed"
    assert len(shorter.text) <= 25 * 4 < len(first(unlimited, Proposed).text)
    assert "At most 25 tokens" in asked(fits, "compress")[0]
    dropped = first(too_short, Skipped)
    assert dropped.reason == "too_long"
    assert "max_skill_tokens is 10" in dropped.detail


def reminders(without: ScriptedRun, with_notes: ScriptedRun) -> None:
    assert not seen(without, Noted)
    assert not any("appendix_notes" in text for text in asked(without))
    assert not any("APPENDIX" in documents.skill for documents in without.state.texts.values())
    noted = {event.step: event.notes for event in seen(with_notes, Noted) if event.added}
    assert noted
    for candidate in seen(with_notes, Proposed):
        if candidate.step in noted:
            appendix = SkillDocument.parse(candidate.text).appendix
            assert notes_in(appendix) == noted[candidate.step]


def whose_reminders(both: ScriptedRun, failures: ScriptedRun) -> None:
    asks = [
        {"appendix_notes" in text for text in asked(run, "reflect_success")}
        for run in (both, failures)
    ]
    assert asks == [{True}, {False}]
    for run in (both, failures):
        assert all("appendix_notes" in text for text in asked(run, "reflect_failure"))
        noted = {note for event in seen(run, Noted) for note in event.notes}
        assert (PRAISE in noted) == (run is both)


def condensed_reminders(never: ScriptedRun, above_one: ScriptedRun) -> None:
    assert "consolidate" not in stages(never)
    assert max(len(event.notes) for event in seen(never, Noted)) > 1
    assert any(event.status == "consolidated" for event in seen(above_one, Noted))
    assert all(len(event.notes) <= 1 for event in seen(above_one, Noted))


ROWS = (
    LoopRow("optimizer.learning_rate", (1, 3), edits_per_step),
    LoopRow(
        "optimizer.min_learning_rate",
        (0, 4),
        edits_at_the_end,
        {**FOUR_STEPS, "optimizer.lr_scheduler": "linear"},
    ),
    LoopRow(
        "optimizer.lr_scheduler", ("constant", "linear", "cosine"), schedules, around=FOUR_STEPS
    ),
    LoopRow(
        "optimizer.lr_control_mode",
        ("fixed", "autonomous", "none"),
        control,
        {"optimizer.learning_rate": 1},
    ),
    LoopRow(
        "optimizer.skill_update_mode",
        ("patch", "rewrite_from_suggestions", "full_rewrite_minibatch"),
        forms_of_change,
    ),
    LoopRow("optimizer.max_skill_tokens", (None, 25, 10), longest_document),
    LoopRow(
        "optimizer.use_skill_aware_reflection",
        (False, True),
        reminders,
        {"train.samples": 2},
        models=Fickle(),
    ),
    LoopRow(
        "optimizer.skill_aware_appendix_source",
        ("both", "failure_only"),
        whose_reminders,
        SKILL_AWARE,
        models=Reminding(),
    ),
    LoopRow(
        "optimizer.skill_aware_consolidate_threshold",
        (0, 1),
        condensed_reminders,
        {**SKILL_AWARE, "evaluation.use_gate": False},
        models=Fickle(),
    ),
)

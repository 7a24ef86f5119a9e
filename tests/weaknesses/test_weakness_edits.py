"""Edits: how many, asked for how, and what they can never reach."""

from __future__ import annotations

import json
from typing import Any

import pytest
from scripted_run import ScriptedRun, make_plan
from weakness_parts import (
    Scripted,
    append,
    finish,
    labelled,
    of_type,
    patch,
    prompts,
    resumed,
    words_plan,
)

from skillopt.domain.events import BudgetDecided, Event, Proposed, Selected, Skipped, StepStarted
from skillopt.domain.plan import RunPlan
from skillopt.domain.skill import SkillDocument

WORDS = ("alpha", "beta", "gamma", "delta", "other", "extra")
RULES = patch(*(append(f"Always say {word}.") for word in WORDS))


def plan_with(**optimizer: Any) -> RunPlan:
    settings = {
        "train": {"num_epochs": 1, "batch_size": 6},
        "gradient": {"minibatch_size": 6},
        "optimizer": {"min_learning_rate": 0, "lr_scheduler": "constant", **optimizer},
    }
    return words_plan(WORDS, WORDS, settings=settings)


# --- 9: how many edits are applied ----------------------------------------------------------------


def test_w09_a_budget_of_zero_applies_nothing():
    """The defect: with a budget of 0 one edit was applied all the same."""
    run = finish(
        ScriptedRun(plan_with(learning_rate=0), models=Scripted(replies={"reflect": RULES}))
    )
    assert [event.reason for event in of_type(run, Skipped)] == ["no_edits"]
    assert not of_type(run, Proposed)
    assert not prompts(run), "nobody is paid for edits that may not be applied"


def test_w09_an_optimizer_that_chooses_zero_applies_nothing():
    """The defect: the optimizer's own choice of 0 still let one edit through."""
    replies = {"reflect": RULES, "learning_rate": {"learning_rate": 0, "reasoning": "wait"}}
    plan = plan_with(learning_rate=6, lr_control_mode="autonomous")
    run = finish(ScriptedRun(plan, models=Scripted(replies=replies)))
    assert [event.edit_budget for event in of_type(run, BudgetDecided)] == [0]
    assert [event.edits for event in of_type(run, Selected)] == [()]
    [skipped] = of_type(run, Skipped)
    assert "chose to apply no edit" in skipped.detail
    assert run.state.current == run.plan.initial_key


def test_w09_an_unusable_choice_is_not_a_choice_of_zero():
    """The defect: a reply that could not be read meant a budget of 0."""
    replies = {"reflect": RULES, "learning_rate": "as you like"}
    plan = plan_with(learning_rate=3, lr_control_mode="autonomous")
    run = finish(ScriptedRun(plan, models=Scripted(replies=replies)))
    assert [(e.edit_budget, e.status) for e in of_type(run, BudgetDecided)] == [(3, "fallback")]
    [proposed] = of_type(run, Proposed)
    assert sum(report.applied for report in proposed.reports) == 3


@pytest.mark.parametrize(("mode", "applied", "ranked"), [("none", 6, False), ("fixed", 2, True)])
def test_w09_no_limit_is_another_mode_than_a_fixed_one(mode, applied, ranked):
    """The defect: `none` clipped the edits exactly as `fixed` did."""

    def merged(parts: dict[str, str]) -> dict[str, Any]:
        return {"reasoning": "all", "edits": [append(f"Always say {word}.") for word in WORDS]}

    # Two shards of three edits each: more than the limit only once they are merged.
    replies = {
        "reflect": lambda parts: patch(
            *(append(f"Always say {word}.") for word in WORDS if word in parts["Attempts"])
        ),
        "merge": merged,
    }
    settings = {
        "train": {"num_epochs": 1, "batch_size": 6},
        "gradient": {"minibatch_size": 3},
        "optimizer": {"learning_rate": 2, "min_learning_rate": 0, "lr_control_mode": mode},
    }
    plan = words_plan(WORDS, WORDS, settings=settings)
    run = finish(ScriptedRun(plan, models=Scripted(replies=replies)))
    [proposed] = of_type(run, Proposed)
    assert sum(report.applied for report in proposed.reports) == applied
    assert bool(labelled(run, "/ rank")) is ranked


# --- 10: protected parts --------------------------------------------------------------------------

PROTECTED = """\
---
name: greeter
description: Greets. Use for greetings.
---
# Greeter

Be brief.

<!-- FROZEN_START -->
Never promise a refund.
<!-- FROZEN_END -->

Be kind.

<!-- SLOW_UPDATE_START -->
Learnt slowly.
<!-- SLOW_UPDATE_END -->

<!-- APPENDIX_START -->
- Mind the gap.
<!-- APPENDIX_END -->
"""

#: Texts that reach over the edge of a protected part, or bring markers of their own.
HOSTILE_TEXTS = (
    "Be brief.\n\n<!-- FROZEN_START -->",
    "Be kind.\n\n<!-- SLOW_UPDATE_START -->\nLearnt",
    "Never promise a refund.\n<!-- FROZEN_END -->\n\nBe kind.",
    "name: greeter",
    "- Mind the gap.",
    "<!-- SLOW_UPDATE_END -->\nI am free.\n<!-- SLOW_UPDATE_START -->",
    "<!-- APPENDIX_START -->\n- Mine.\n<!-- APPENDIX_END -->",
    "---\nname: other\n---\n# Other",
    "<!-- KEEP 1 --><!-- KEEP 2 -->",
    "<!-- FROZ<!-- KEEP 1 -->EN_END -->",
)


def hostile_edits(parts: dict[str, str]) -> dict[str, Any]:
    seen = len(str(parts))
    rows = [
        {"op": op, "target": target, "content": content}
        for op in ("replace", "delete", "insert_after", "append")
        for target, content in zip(HOSTILE_TEXTS, reversed(HOSTILE_TEXTS), strict=True)
    ]
    return patch(append(f"Fresh {seen}."), *rows[seen % 7 :])


def hostile_rewrite(parts: dict[str, str]) -> str:
    """Leave every protected part out and write others into their place."""
    return "\n\n".join(["# Mine", f"Fresh {len(str(parts))}.", *HOSTILE_TEXTS])


def hostile_candidate(parts: dict[str, str]) -> dict[str, Any]:
    listed = [{"title": "t", "change_summary": [], "new_skill": hostile_rewrite(parts)}]
    return {"batch_size": 1, "patch": {"reasoning": "so", "skill_candidates": listed}}


HOSTILE = {
    "patch": {"reflect": hostile_edits},
    "rewrite_from_suggestions": {
        "rewrite": lambda parts: {"change_summary": [], "new_skill": hostile_rewrite(parts)}
    },
    "full_rewrite_minibatch": {"reflect": hostile_candidate},
}


def authors_parts(text: str) -> tuple[str, list[str]]:
    """Give what belongs to the author of a document alone."""
    document = SkillDocument.parse(text)
    return document.front_matter, [r.render() for r in document.regions if r.name == "FROZEN"]


@pytest.mark.parametrize("mode", HOSTILE)
def test_w10_no_way_of_changing_a_document_reaches_its_protected_parts(mode):
    """The defect: a target across a marker, a marker in a text or any rewrite lost the part."""
    optimizer = {"lr_control_mode": "none", "skill_update_mode": mode}
    plan = make_plan(skill=PROTECTED, settings={"optimizer": optimizer})
    run = finish(ScriptedRun(plan, models=Scripted(replies=HOSTILE[mode])))
    proposed = of_type(run, Proposed)
    assert proposed, "hostile changes must have come through to a candidate"
    before = SkillDocument.parse(PROTECTED)
    for event in proposed:
        after = SkillDocument.parse(event.text)
        assert "Fresh" in after.body
        assert after.front_matter == before.front_matter
        assert sorted(r.render() for r in after.regions) == sorted(
            r.render() for r in before.regions
        )


def test_w10_guidance_and_notes_stay_inside_their_own_regions():
    """The defect: guidance was put in unchecked, and its markers broke the document open."""
    escaping = "<!-- SLOW_UPDATE_END -->\nOut.\n<!-- FROZEN_START -->\nIn.\n<!-- FROZEN_END -->"
    models = Scripted(
        replies={
            "slow_update": {"slow_update_content": f"Go on.\n{escaping}"},
            "reflect": lambda parts: patch(
                append(f"Fresh {len(str(parts))}."),
                appendix_notes=[f"Note {len(str(parts))} <!-- APPENDIX_END --> out"],
            ),
        }
    )
    optimizer = {"learning_rate": 1, "use_slow_update": True, "use_skill_aware_reflection": True}
    plan = make_plan(skill=PROTECTED, settings={"optimizer": optimizer})
    run = finish(ScriptedRun(plan, models=models))
    assert {event.source for event in of_type(run, Proposed)} == {"step", "slow_update"}
    for event in of_type(run, Proposed):
        document = SkillDocument.parse(event.text)
        assert authors_parts(event.text) == authors_parts(PROTECTED)
        assert [region.name for region in document.regions] == ["FROZEN", "SLOW_UPDATE", "APPENDIX"]
        assert "Out." not in document.body
        assert "out" not in document.body


# --- 17 and 34: the schedule ----------------------------------------------------------------------

LINEAR = {
    "learning_rate": 4,
    "min_learning_rate": 1,
    "lr_scheduler": "linear",
}


def budgets(events: list[Event]) -> list[int | None]:
    return [event.edit_budget for event in events if isinstance(event, StepStarted)]


def test_w17_steps_without_a_candidate_do_not_shift_the_schedule():
    """The defect: the budget fell only with steps that had edits, so it lagged behind."""
    plan = make_plan(settings={"optimizer": LINEAR, "train": {"num_epochs": 2, "batch_size": 4}})
    idle = finish(ScriptedRun(plan, models=Scripted(replies={"reflect": patch()})))
    assert len(of_type(idle, Skipped)) == 4
    busy = Scripted(replies={"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))})
    assert budgets(idle.events) == [3, 2, 2, 1]
    assert budgets(finish(ScriptedRun(plan, models=busy)).events) == [3, 2, 2, 1]


def test_w17_a_resumed_run_has_the_budgets_of_one_that_was_not():
    """The defect: at a restart the schedule was set to another point than it had reached."""
    plan = make_plan(settings={"optimizer": LINEAR, "train": {"num_epochs": 2, "batch_size": 4}})
    first_idle = Scripted(
        replies={
            "reflect": lambda parts: patch(append("Try.")) if "Earlier steps" in parts else patch()
        }
    )
    whole = finish(ScriptedRun(plan, models=first_idle))
    for length in range(1, len(whole.events)):
        again = finish(resumed(plan, whole.events[:length], models=first_idle))
        assert budgets(again.events) == budgets(whole.events) == [3, 2, 2, 1]


def test_w34_analysts_are_asked_for_the_edits_of_their_own_step():
    """The defect: every analyst was asked for the maximum, which another call then cut down."""
    # A model that never learns keeps failing, so that every step asks.
    mute = Scripted(replies={"reflect": lambda parts: patch(append(f"Try {len(str(parts))}."))})
    plan = make_plan(settings={"optimizer": LINEAR, "train": {"num_epochs": 2, "batch_size": 4}})
    run = finish(ScriptedRun(plan, models=mute))
    asked = {
        int(job.label.split()[1]): prompt
        for job in labelled(run, "/ reflect")
        for prompt in [json.loads(job.blobs[0])[1]["content"]]
    }
    for step, budget in enumerate(budgets(run.events), start=1):
        noun = "edit" if budget == 1 else "edits"
        assert f"Propose at most {budget} {noun}." in asked[step]


def test_w34_what_is_proposed_beyond_the_budget_needs_no_further_call():
    """The defect: a ranking call was paid for to throw away what should not have been asked for."""
    greedy = Scripted(replies={"reflect": RULES})
    run = finish(ScriptedRun(plan_with(learning_rate=2), models=greedy))
    assert [len(event.edits) for event in of_type(run, Selected)] == [2]
    assert not labelled(run, "/ rank")

"""Gates: no text counts before it is measured, and none is taken for what chance may bring."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from config_workspace import Workspace
from recorded_runs import MODES, run_of
from scripted_models import unfenced
from scripted_run import SKILL, ScriptedRun, make_plan
from weakness_parts import (
    Scripted,
    append,
    assert_earned,
    finish,
    labelled,
    of_type,
    patch,
    states,
    words_plan,
)

from skillopt.domain.events import Gated, Noted, Proposed, Skipped
from skillopt.domain.fingerprint import digest
from skillopt.errors import InputError

# --- 4: every text that counts was measured -------------------------------------------------------


#: Those in which the document changes.
CHANGING = [mode for mode in MODES if mode not in ("early", "several samples")]


@pytest.mark.parametrize("mode", CHANGING)
def test_w04_no_text_is_current_with_the_score_of_another(mode):
    """The defect: guidance and notes changed the current text, which kept its earlier score."""
    run = finish(run_of(mode))
    currents = {state.current: state for state in states(run) if state.measured}
    assert len(currents) > 1, "the run must have changed its document"
    for key, state in currents.items():
        whole = state.measured[(key, "val")]
        assert len(whole.items) == len(run.plan.splits.val)
        assert_earned(run, state, whole)


def test_w04_harmful_guidance_does_not_stay_when_it_is_gated():
    """The defect: guidance that harmed stayed in the current text to the end."""

    class Silenced(Scripted):
        def said(self, told: str, task: str, chance: float) -> str:
            return "" if "Be silent." in told else super().said(told, task, chance)

    models = Silenced(replies={"slow_update": {"slow_update_content": "Be silent."}})
    optimizer = {"learning_rate": 1, "min_learning_rate": 1, "use_slow_update": True}
    run = finish(ScriptedRun(make_plan(settings={"optimizer": optimizer}), models=models))
    [guided] = [gated for gated in of_type(run, Gated) if gated.source == "slow_update"]
    assert guided.verdict == "reject"
    assert "Be silent." in run.state.texts[guided.skill].skill
    assert "Be silent." not in run.state.texts[run.state.current].skill
    assert "Be silent." not in run.state.texts[run.state.best].skill


def test_w04_notes_of_a_rejected_candidate_do_not_stay():
    """The defect: notes were written into the current text whatever the gate had said."""

    def analyst(parts: dict[str, str]) -> dict[str, object]:
        said = f"Reminder {len(str(parts))}."
        return patch(append(f"Useless {len(str(parts))}."), appendix_notes=[said])

    optimizer = {"learning_rate": 2, "use_skill_aware_reflection": True}
    plan = make_plan(settings={"optimizer": optimizer})
    run = finish(ScriptedRun(plan, models=Scripted(replies={"reflect": analyst})))
    noted = of_type(run, Noted)
    assert all(one.added for one in noted)
    assert {gated.verdict for gated in of_type(run, Gated)} == {"reject"}
    assert all("Reminder" in event.text for event in of_type(run, Proposed))
    assert run.state.texts[run.state.current].skill == SKILL


# --- 6: chance ------------------------------------------------------------------------------------


@dataclass
class Coin(Scripted):
    """A target that passes every other attempt whatever its document says."""

    def said(self, told: str, task: str, chance: float) -> str:
        passes = int(digest([told, task, chance])[:8], 16) % 2
        return task.rstrip("?") if passes else ""


def coin_run(seed: int, **evaluation: object) -> ScriptedRun:
    val = [f"word{n}" for n in range(16)]
    plan = words_plan(
        val[:8],
        val,
        settings={
            "train": {"num_epochs": 2, "batch_size": 2, "seed": seed},
            "evaluation": {**evaluation, "eval_test": False},
        },
    )
    tries = {"reflect": lambda parts: patch(append(f"Mind {digest(sorted(parts.items()))}."))}
    return finish(ScriptedRun(plan, models=Coin(replies=tries)))


def test_w06_chance_alone_is_not_accepted():
    """The defect: the gate took any higher mean of one noisy sample for progress."""
    by_means = [coin_run(seed) for seed in range(6)]
    tested = [coin_run(seed, significance=0.05) for seed in range(6)]
    assert all(len(run.state.gates) == 8 for run in by_means + tested)
    assert all(run.state.best != run.plan.initial_key for run in by_means), "chance must tempt"
    assert all(run.state.best == run.plan.initial_key for run in tested)


def test_w06_all_gates_of_a_run_share_one_permitted_error():
    """The defect: dozens of decisions were taken on one set of tasks as if each were the only."""
    run = coin_run(1, significance=0.05)
    levels = [gated.level for gated in run.state.gates]
    assert len(levels) == 8
    assert all(level and level < 0.05 for level in levels)
    assert sum(level or 0.0 for level in levels) <= 0.05 + 1e-12


def test_w06_a_real_gain_is_still_accepted():
    """A test that accepts nothing would pass the two above as well."""
    words = [f"word{n}" for n in range(8)]
    plan = words_plan(
        words,
        words,
        settings={
            "train": {"num_epochs": 1, "batch_size": 8},
            "optimizer": {"learning_rate": 8},
            "evaluation": {"significance": 0.05},
        },
    )
    every = patch(*(append(f"Always say {word}.") for word in words))
    run = finish(ScriptedRun(plan, models=Scripted(replies={"reflect": every})))
    assert [gated.verdict for gated in of_type(run, Gated)] == ["accept"]


# --- 7: no change, no candidate -------------------------------------------------------------------


def same_text(parts: dict[str, str]) -> str:
    return unfenced(parts["Current skill"])


def spaced_text(parts: dict[str, str]) -> str:
    return "".join(f"{line}  \n" for line in same_text(parts).splitlines()) + "\n\n"


def candidate(text: str) -> dict[str, object]:
    listed = [{"title": "t", "change_summary": ["c"], "new_skill": text}]
    return {"batch_size": 1, "patch": {"reasoning": "so", "skill_candidates": listed}}


NO_CHANGE = {
    "targets that are not there": (
        "patch",
        {
            "reflect": patch(
                {"op": "replace", "target": "Be long.", "content": "Be brief."},
                {"op": "delete", "target": "nowhere", "content": ""},
                {"op": "insert_after", "target": "absent", "content": "More."},
            )
        },
    ),
    "a replacement by itself": (
        "patch",
        {"reflect": patch({"op": "replace", "target": "Be brief.", "content": "Be brief."})},
    ),
    "a rewrite that says the same": (
        "rewrite_from_suggestions",
        {"rewrite": lambda parts: {"change_summary": [], "new_skill": same_text(parts)}},
    ),
    "a rewrite with other white space": (
        "rewrite_from_suggestions",
        {"rewrite": lambda parts: {"change_summary": [], "new_skill": spaced_text(parts)}},
    ),
    "a candidate with other white space": (
        "full_rewrite_minibatch",
        {"reflect": lambda parts: candidate(spaced_text(parts))},
    ),
}


@pytest.mark.parametrize("what", NO_CHANGE)
def test_w07_a_candidate_that_changes_nothing_is_not_measured(what):
    """The defect: a text without any change was rolled out again and accepted by chance."""
    mode, replies = NO_CHANGE[what]
    optimizer = {"learning_rate": 3, "min_learning_rate": 1, "skill_update_mode": mode}
    plan = make_plan(settings={"optimizer": optimizer})
    run = finish(ScriptedRun(plan, models=Scripted(replies=replies)))
    skipped = of_type(run, Skipped)
    assert [event.reason for event in skipped] == ["no_change"] * 4
    assert not of_type(run, Gated)
    assert not labelled(run, "gate")


# --- 14: words that earn nothing ------------------------------------------------------------------


def test_w14_capital_words_earn_a_document_nothing():
    """The defect: more of MUST and NEVER beat an equally good document."""
    loud = "You MUST ALWAYS be CRITICAL, NEVER lax, ONLY STRICT: VERIFY and ENSURE. "
    shouting = {"reflect": lambda parts: patch(append(loud + f"IMPORTANT {len(str(parts))}."))}
    run = finish(ScriptedRun(models=Scripted(replies=shouting)))
    gates = of_type(run, Gated)
    assert len(gates) == 4
    assert {gated.verdict for gated in gates} == {"reject"}
    assert all(gated.candidate_score == gated.current_score for gated in gates)
    assert run.state.current == run.plan.initial_key


@pytest.mark.parametrize("key", ["use_semantic_density", "semantic_density_weight"])
def test_w14_no_setting_rewards_words(workspace: Workspace, key):
    """The defect: a setting let the gate count forceful words."""
    workspace.spec(f"evaluation: {{{key}: 1}}\n")
    with pytest.raises(InputError, match="earn a document nothing"):
        workspace.load()

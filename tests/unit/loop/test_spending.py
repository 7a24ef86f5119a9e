from __future__ import annotations

from dataclasses import replace

import pytest
from loop_values import measurement
from scripted_run import ScriptedRun, item, make_plan

from skillopt.domain.events import Compared, Gated, Skipped, StepStarted
from skillopt.domain.item import Splits
from skillopt.domain.run import RunState
from skillopt.loop.fold import apply
from skillopt.loop.spending import first_level, level_of, planned_gates

TRAIN = tuple(item(f"lesson-{n}", "word") for n in range(4))


def plan(significance: float | None = 0.12, epochs: int = 3, slow: bool = True):
    return make_plan(
        splits=Splits(train=TRAIN, val=(item("v", "word"),)),
        settings={
            "train": {"num_epochs": epochs, "batch_size": 2},
            "optimizer": {"use_slow_update": slow},
            "evaluation": {"significance": significance},
        },
    )


def gated(state: RunState, step: int, verdict: str = "reject", source: str = "step") -> Gated:
    return Gated.model_validate(
        {
            "step": step,
            "source": source,
            "skill": f"candidate {step} {source}",
            "verdict": verdict,
            "level": level_of(state),
            "metric": "hard",
            "candidate_score": 1.0,
            "current_score": 0.0,
            "pairs": 1,
            "reason": "because",
            "measurement": measurement("x", v=1.0),
        }
    )


def start(state: RunState, step: int) -> RunState:
    started = StepStarted(step=step, epoch=1, skill="s", items=(), edit_budget=1)
    return apply(state, started)


def compare(state: RunState, epoch: int) -> RunState:
    compared = Compared(
        epoch=epoch, previous="p", current="c", policy="mixed", sampled=(), pairs=()
    )
    return apply(state, compared)


def play(state: RunState, steps: str, *, slow_updates: bool = True) -> tuple[RunState, list[float]]:
    """Play steps (g gates, s skips); from epoch 2 on each epoch of two ends with a slow update."""
    levels = []
    for step, what in enumerate(steps, start=1):
        state = start(state, step)
        if what == "g":
            event = gated(state, step)
            levels.append(event.level)
            state = apply(state, event)
        else:
            state = apply(state, Skipped(step=step, reason="no_edits"))
        if slow_updates and step % 2 == 0 and step > 2:
            state = compare(state, step // 2)
            event = gated(state, step, source="slow_update")
            levels.append(event.level)
            state = apply(state, event)
    return state, levels


def test_without_significance_there_is_no_level():
    state = ScriptedRun(plan(None)).state
    assert level_of(state) is None
    assert first_level(state.plan) is None


@pytest.mark.parametrize(
    ("epochs", "slow", "gates"), [(1, False, 2), (1, True, 2), (3, False, 6), (3, True, 8)]
)
def test_every_gate_that_may_come_is_planned_for(epochs, slow, gates):
    assert planned_gates(plan(epochs=epochs, slow=slow)) == gates
    assert first_level(plan(epochs=epochs, slow=slow)) == pytest.approx(0.12 / gates)


def test_gates_share_evenly_and_spend_it_all():
    _, levels = play(ScriptedRun(plan()).state, "gggggg")
    assert levels == pytest.approx([0.12 / 8] * 8)


def test_a_skipped_step_leaves_its_share_to_all_later_gates():
    _, levels = play(ScriptedRun(plan(slow=False)).state, "ssgggg", slow_updates=False)
    assert levels == pytest.approx([0.12 / 4] * 4)
    _, levels = play(ScriptedRun(plan(slow=False)).state, "gsgsgs", slow_updates=False)
    assert levels == pytest.approx([0.02, 0.025, 0.0375])
    _, levels = play(ScriptedRun(plan(slow=False)).state, "sssssg", slow_updates=False)
    assert levels == pytest.approx([0.12]), "the last gate may spend all that is left"


@pytest.mark.parametrize("steps", ["gggggg", "sggsgg", "gsssgs", "sssssg", "ssssss", "gsgsgs"])
@pytest.mark.parametrize("slow", [True, False])
def test_all_gates_together_never_spend_more_than_the_bound(steps, slow):
    state, levels = play(ScriptedRun(plan(slow=slow)).state, steps, slow_updates=slow)
    assert sum(levels) <= 0.12 + 1e-12
    assert all(level > 0 for level in levels)
    assert sum(one.level or 0.0 for one in state.gates) == pytest.approx(sum(levels))


def test_a_slow_update_that_is_skipped_leaves_its_share_too():
    state, _ = play(ScriptedRun(plan()).state, "gggg", slow_updates=False)
    before = level_of(start(state, 5))
    state = apply(compare(state, 2), Skipped(step=4, source="slow_update", reason="no_content"))
    assert before == pytest.approx(0.12 / 8)
    assert level_of(start(state, 5)) == pytest.approx(0.12 / 8 * 4 / 3)


def test_an_indecisive_gate_spends_nothing():
    state = start(ScriptedRun(plan()).state, 1)
    level = level_of(state)
    state = apply(state, gated(state, 1, "indecisive"))
    assert level_of(state) == level


def test_an_acceptance_spends_what_a_rejection_does():
    levels = []
    for verdict in ("accept", "reject", "underpowered"):
        state = start(ScriptedRun(plan()).state, 1)
        state = apply(state, gated(state, 1, verdict))
        levels.append(level_of(start(state, 2)))
    assert len(set(levels)) == 1


def test_more_gates_than_planned_get_nothing():
    state, _ = play(ScriptedRun(plan()).state, "gggggg")
    assert level_of(replace(state, steps=(*state.steps, state.steps[0]))) == pytest.approx(
        0, abs=1e-12
    )

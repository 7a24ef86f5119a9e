"""10. Every change of a document is measured before it counts.

Edits, rewrites, notes in the appendix, guidance at the end of an epoch: each makes a *candidate*,
a document of its own that is tried on the held-out tasks. A score belongs to the exact text that
earned it and is never handed on. With the gate switched off a candidate is taken whatever its
score, but it is measured all the same, and only a better one can become the best.
"""

from __future__ import annotations

import json

from scripted_models import stage_of
from scripted_run import Models, ScriptedRun, make_plan

from skillopt.domain.events import Gated, Proposed

OPTIMIZER = {
    "learning_rate": 1,
    "use_slow_update": True,
    "slow_update_gate_with_selection": False,
}


class BadAdviser(Models):
    """Gives guidance at the end of an epoch that makes the target say nothing."""

    def optimize(self, messages) -> str:
        if stage_of(messages) == "slow_update":
            return json.dumps({"slow_update_content": "Be silent."})
        return super().optimize(messages)

    def said(self, told: str, task: str, chance: float) -> str:
        return "" if "Be silent." in told else super().said(told, task, chance)


def test_forced_guidance_has_the_score_it_earned_and_not_that_of_the_text_before():
    run = ScriptedRun(make_plan(settings={"optimizer": OPTIMIZER}), models=BadAdviser()).finish()
    state = run.state
    assert "Be silent." in state.texts[state.current].skill
    assert state.measured[(state.current, "val")].hard == 0.0
    assert "Be silent." not in state.texts[state.best].skill
    assert state.measured[(state.best, "val")].hard > 0.0


def test_each_candidate_has_a_gate_of_its_own():
    run = ScriptedRun(make_plan(settings={"optimizer": OPTIMIZER})).finish()
    proposed = [event.skill for event in run.events if isinstance(event, Proposed)]
    gated = [event.skill for event in run.events if isinstance(event, Gated)]
    assert proposed == gated
    assert len(set(proposed)) == len(proposed), "no text is tried twice"

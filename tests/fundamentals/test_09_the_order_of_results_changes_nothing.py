"""9. The order of results changes nothing.

A hundred workers finish in whatever order they like. A decision is taken only when everything it
depends on is there, and it looks at the results in an order of its own. So one worker and many
give the same run, event by event.
"""

from __future__ import annotations

import pytest
from scripted_run import ScriptedRun, make_plan

#: With a comparison, guidance and a memory at the end of the second epoch, and early rejections.
WHOLE_LOOP = {
    "optimizer": {"learning_rate": 1, "use_slow_update": True, "use_meta_skill": True},
    "evaluation": {"early_decision": True},
}


@pytest.mark.parametrize("luck", range(5))
def test_results_in_any_order_give_the_same_events(luck):
    in_order = ScriptedRun().finish()
    shuffled = ScriptedRun(order_seed=luck).finish()
    assert shuffled.events == in_order.events
    assert list(shuffled.performed) != list(in_order.performed), "the order did differ"


@pytest.mark.parametrize("luck", range(5))
def test_that_holds_for_the_whole_loop(luck):
    plan = make_plan(settings=WHOLE_LOOP)
    assert ScriptedRun(plan, order_seed=luck).finish().events == ScriptedRun(plan).finish().events

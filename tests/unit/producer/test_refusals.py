from __future__ import annotations

import pytest

from producer.refusals import refusal_words
from skillopt.state.ports import Refusal, Scope


def test_a_run_is_told_its_own_key():
    words = refusal_words(Refusal(Scope("run", "r1"), "usd"))
    assert words == (
        "the next call does not fit into budget.max_usd; raise it and give the same command again"
    )


@pytest.mark.parametrize("kind", ["owner", "team"])
def test_an_owner_or_team_is_named_with_the_command_that_raises_the_cap(kind):
    words = refusal_words(Refusal(Scope(kind, "blue"), "tokens"))
    assert f"what {kind} 'blue' may spend over all runs (--max-tokens)" in words
    assert f"`skillopt budget set {kind}:blue --max-tokens …`" in words
    assert words.endswith("give the same command again")

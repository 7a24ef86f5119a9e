"""`skillopt budget`: caps of owners and teams, set and shown."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from producer.cli import main
from skillopt.domain.timing import Timing
from skillopt.state.ports import Amount, Caps, Scope, State
from skillopt.state.redis.connect import connect


@pytest.fixture
def state(redis_url: str) -> Iterator[State]:
    with connect(redis_url, Timing()) as state:
        yield state


@pytest.fixture
def budget(redis_url: str):
    def run(*arguments: str) -> int:
        return main.run_command(["budget", *arguments, "--redis", redis_url])

    return run


def call(state: State, name: str, *, priced: bool = True) -> None:
    estimate = Amount(calls=1, tokens=100, micro_usd=300_000 if priced else 0)
    state.budgets.reserve("r1", name, job="j", role="target", estimate=estimate, priced=priced)


def settle(state: State, name: str, **more: bool) -> None:
    state.budgets.settle("r1", name, input_tokens=70, output_tokens=20, micro_usd=250_000, **more)


def test_caps_are_set_one_by_one_and_none_removes_one(budget, state, capsys):
    assert budget("set", "owner:alice", "--max-calls", "5_000", "--max-usd", "2.50") == 0
    out = capsys.readouterr().out
    assert "owner:alice" in out
    assert "5,000" in out
    assert "$2.50" in out
    assert budget("set", "owner:alice", "--max-calls", "none", "--max-tokens", "7", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["scope"], shown["kind"], shown["name"]) == ("owner:alice", "owner", "alice")
    assert shown["caps"] == {"calls": None, "tokens": 7, "usd": 2.5}
    [stored] = state.budgets.shared()
    assert stored.caps == Caps(tokens=7, micro_usd=2_500_000)


def test_show_lists_caps_and_what_is_spent_reserved_and_unconfirmed(budget, state, capsys):
    state.budgets.join("r1", owner="alice", team="blue")
    state.budgets.set_shared_caps(Scope("team", "blue"), {"calls": 9})
    for name in ("a", "b", "c"):
        call(state, name)
    settle(state, "a", estimated=True)
    state.budgets.settle_unknown("r1", "b")
    assert budget("show", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["budgets"]
    assert [one["scope"] for one in shown] == ["owner:alice", "team:blue"]
    assert shown[1] == {
        "scope": "team:blue",
        "kind": "team",
        "name": "blue",
        "caps": {"calls": 9, "tokens": None, "usd": None},
        "calls_by_role": {"target": 2, "optimizer": 0, "judge": 0},
        "spent": {
            "calls": 1,
            "tokens": {"input": 70, "output": 20, "estimated": 90},
            "usd": 0.25,
            "unpriced_calls": 0,
        },
        "reserved": {"calls": 1, "tokens": 100, "usd": 0.3},
        "unconfirmed": {"calls": 1, "tokens": 100, "usd": 0.3},
    }
    assert budget("show", "--by", "team") == 0
    out = capsys.readouterr().out
    assert "team:blue" in out
    assert "owner:alice" not in out
    assert "team:blue: 90 tokens are our own estimate" in out
    money = next(line for line in out.splitlines() if "money" in line)
    assert money.split() == ["money", "no", "cap", "$0.2500", "$0.3000", "$0.3000"]


def test_calls_without_a_price_are_never_shown_as_free(budget, state, capsys):
    state.budgets.join("r1", owner="alice")
    call(state, "a", priced=False)
    assert budget("show", "--json") == 0
    [alice] = json.loads(capsys.readouterr().out)["budgets"]
    assert (alice["spent"]["usd"], alice["reserved"]["usd"]) == (None, None)
    assert budget("show") == 0
    assert "not priced" in capsys.readouterr().out
    call(state, "b")
    settle(state, "b")
    assert budget("show") == 0
    out = capsys.readouterr().out
    assert "$0.2500" in out
    assert "owner:alice: 1 call to backends without a price, not in the money" in out


def test_with_nobody_there_it_says_how_to_begin(budget, capsys):
    assert budget("show") == 0
    assert "SKILLOPT_OWNER" in capsys.readouterr().out
    assert budget("show", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"budgets": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("alice", "--max-calls", "1"), "'alice' is neither an owner nor a team; write owner:NAME"),
        (("run:x", "--max-calls", "1"), "'run:x' is neither an owner nor a team"),
        (("owner:a b", "--max-calls", "1"), "'a b' is no name; give letters"),
        (("owner:", "--max-calls", "1"), "'' is no name"),
        (("owner:a",), "say what to change: --max-calls, --max-tokens or --max-usd"),
        (("owner:a", "--max-calls", "1.5"), "--max-calls: '1.5' does not fit; give a whole"),
        (("owner:a", "--max-tokens", "many"), "--max-tokens: 'many' does not fit"),
        (("owner:a", "--max-usd", "-1"), "--max-usd: '-1' does not fit; give an amount of dollars"),
        (("owner:a", "--max-usd", "nan"), "--max-usd: 'nan' does not fit"),
        (("owner:a", "--max-usd", "1e40"), "--max-usd: '1e40' does not fit"),
    ],
)
def test_what_cannot_be_meant_is_refused(budget, state, capsys, arguments, message):
    assert budget("set", *arguments) == 2
    assert message in capsys.readouterr().err
    assert state.budgets.shared() == []

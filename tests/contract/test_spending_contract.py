from __future__ import annotations

from state_adapters import Adapter

from skillopt.domain.timing import DAY_S
from skillopt.state.ports import Amount, DaySpend, State


def today(state: State) -> int:
    return int(state.server.now() // DAY_S)


def spent(state: State) -> list[DaySpend]:
    """Give what was spent around now: a test may run at midnight."""
    return state.spending.of_days(today(state) - 1, today(state) + 1)


def reserve(state: State, name: str, run: str = "r1", **changes) -> None:
    given = {
        "job": "0" * 64,
        "role": "target",
        "estimate": Amount(calls=1, tokens=100, micro_usd=50),
        "backend": "gpt",
    } | changes
    assert state.budgets.reserve(run, name, **given) is None


def settle(state: State, name: str, run: str = "r1") -> None:
    state.budgets.settle(run, name, input_tokens=70, output_tokens=20, micro_usd=45)


def row(state: State, **changes) -> DaySpend:
    given = {
        "run": "r1",
        "owner": "",
        "team": "",
        "backend": "gpt",
        "role": "target",
        "calls": 1,
        "input_tokens": 70,
        "output_tokens": 20,
        "micro_usd": 45,
    } | changes
    return DaySpend(day=spent(state)[0].day, **given)


class TestSpending:
    def test_nothing_is_spent_before_a_call_is_settled(self, state: State):
        assert spent(state) == []
        reserve(state, "a")
        assert spent(state) == []

    def test_a_settled_call_counts_on_its_day_with_run_backend_and_role(self, state: State):
        reserve(state, "a")
        settle(state, "a")
        assert spent(state) == [row(state)]
        assert spent(state)[0].day in (today(state) - 1, today(state))
        assert state.spending.of_days(today(state) - 9, today(state) - 5) == []

    def test_owner_and_team_are_counted_once_beside_the_run(self, state: State):
        state.budgets.join("r1", owner="ann", team="blue")
        reserve(state, "a")
        settle(state, "a")
        assert spent(state) == [row(state, owner="ann", team="blue")]

    def test_calls_add_up_by_run_backend_and_role(self, state: State):
        for name, changes in {
            "a": {},
            "b": {},
            "c": {"role": "judge"},
            "d": {"backend": "mini"},
            "e": {"run": "r2"},
        }.items():
            reserve(state, name, **changes)
            settle(state, name, changes.get("run", "r1"))
        twice = {"calls": 2, "input_tokens": 140, "output_tokens": 40, "micro_usd": 90}
        assert spent(state) == sorted(
            [
                row(state, **twice),
                row(state, role="judge"),
                row(state, backend="mini"),
                row(state, run="r2"),
            ]
        )

    def test_settling_twice_counts_once(self, state: State):
        reserve(state, "a")
        settle(state, "a")
        settle(state, "a")
        assert spent(state) == [row(state)]

    def test_calls_without_a_price_are_told_apart(self, state: State):
        reserve(state, "a", priced=False)
        settle(state, "a")
        assert [one.unpriced_calls for one in spent(state)] == [1]

    def test_a_call_whose_end_is_unknown_counts_without_tokens(self, state: State):
        reserve(state, "a")
        state.budgets.settle_unknown("r1", "a")
        nothing = {"input_tokens": 0, "output_tokens": 0, "micro_usd": 0}
        assert spent(state) == [row(state, **nothing)]

    def test_a_lapsed_call_counts_once_also_when_it_is_settled_late(self, adapter: Adapter):
        state = adapter.state
        state.budgets.join("r1", owner="ann")
        reserve(state, "a")
        adapter.advance(adapter.timing.reservation_s + 1)
        assert state.budgets.spend("r1").unconfirmed.calls == 1
        assert state.budgets.shared()[0].spend.unconfirmed.calls == 1
        assert [(one.calls, one.micro_usd) for one in spent(state)] == [(1, 0)]
        settle(state, "a")
        assert [(one.calls, one.micro_usd) for one in spent(state)] == [(1, 45)]

    def test_what_is_written_off_counts_as_calls(self, state: State):
        reserve(state, "a")
        reserve(state, "b", role="optimizer")
        state.budgets.write_off("r1")
        assert sorted((one.role, one.calls) for one in spent(state)) == [
            ("optimizer", 1),
            ("target", 1),
        ]

    def test_money_is_known_by_role(self, state: State):
        for name, role in (("a", "target"), ("b", "judge"), ("c", "judge")):
            reserve(state, name, role=role)
            settle(state, name)
        assert state.budgets.spend("r1").micro_usd_by_role == {"target": 45, "judge": 90}

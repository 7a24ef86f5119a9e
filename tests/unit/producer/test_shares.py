"""A backend is divided fairly: equally between owners, by priority between an owner's runs."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from producer.shares import WEIGHTS, Claim, divided, windows
from skillopt.state.ports import Demand


def demand(
    run: str,
    wanted: int = 1_000,
    *,
    owner: str = "ann",
    weight: int = 2,
    window: int | None = None,
    quota: int | None = None,
) -> Demand:
    return Demand(run, owner, wanted, weight, window, quota)


def test_a_run_alone_has_all_of_it():
    assert windows(64, [demand("r")]) == {"r": 64}


def test_a_big_run_leaves_a_small_one_of_another_owner_all_it_wants():
    assert windows(64, [demand("big", 2_000), demand("small", 20, owner="bob")]) == {
        "big": 44,
        "small": 20,
    }


def test_owners_share_equally_however_many_runs_they_have():
    many = [demand(f"a{n}") for n in range(6)]
    found = windows(60, [*many, demand("b", owner="bob")])
    assert found["b"] == 30
    assert {found[one.run] for one in many} == {5}


def test_the_runs_of_an_owner_share_by_priority():
    runs = [demand(name, weight=weight) for name, weight in WEIGHTS.items()]
    assert windows(70, runs) == {"low": 10, "normal": 20, "high": 40}


def test_priority_means_nothing_to_other_owners():
    high = demand("high", weight=WEIGHTS["high"])
    low = demand("low", owner="bob", weight=WEIGHTS["low"])
    assert windows(40, [high, low]) == {"high": 20, "low": 20}


def test_what_one_cannot_use_is_lent_to_the_others():
    idle = [demand("a", 3), demand("b", 0, owner="bob")]
    assert windows(30, [*idle, demand("c", owner="cy")]) == {"a": 3, "b": 0, "c": 27}


def test_a_window_of_its_own_limits_a_run_and_leaves_the_rest_to_others():
    assert windows(40, [demand("a", window=5), demand("b", owner="bob")]) == {"a": 5, "b": 35}


def test_a_quota_limits_all_runs_of_an_owner_together():
    own = [demand(f"a{n}", quota=8) for n in range(2)]
    assert windows(40, [*own, demand("b", owner="bob")]) == {"a0": 4, "a1": 4, "b": 32}


def test_a_quota_of_fewer_jobs_than_runs_serves_the_oldest_runs():
    own = [demand(f"a{n}", quota=2) for n in range(4)]
    assert windows(40, own) == {"a0": 1, "a1": 1, "a2": 0, "a3": 0}


def test_no_run_starves_even_where_there_are_more_runs_than_room():
    runs = [demand(f"r{n}", owner=f"o{n % 3}", weight=1 + 3 * (n % 2)) for n in range(12)]
    assert set(windows(4, runs).values()) == {1}


def test_the_lowest_priority_is_not_rounded_away():
    assert windows(4, [demand("low", weight=1), demand("h", weight=4), demand("i", weight=4)]) == {
        "low": 1,
        "h": 2,
        "i": 1,
    }


@pytest.mark.parametrize("room", [-1, 0])
def test_without_room_nothing_is_divided(room: int):
    assert divided(room, [Claim(1, 5), Claim(2, 0)]) == [0, 0]


# --- whatever is wanted -------------------------------------------------------------------------

QUOTAS = st.dictionaries(st.sampled_from("abc"), st.integers(0, 12))


@st.composite
def demanded(draw: st.DrawFn) -> list[Demand]:
    quotas = draw(QUOTAS)
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from("abc"),
                st.integers(0, 40),
                st.sampled_from(sorted(WEIGHTS.values())),
                st.none() | st.integers(1, 20),
            ),
            max_size=9,
        )
    )
    return [
        demand(f"r{n}", wanted, owner=owner, weight=weight, window=window, quota=quotas.get(owner))
        for n, (owner, wanted, weight, window) in enumerate(rows)
    ]


def most(one: Demand) -> int:
    return one.wanted if one.window is None else min(one.wanted, one.window)


def by_owner(demands: list[Demand], found: dict[str, int]) -> tuple[Counter[str], Counter[str]]:
    """Give what each owner has, and the most that each can use."""
    has, can_use = Counter[str](), Counter[str]()
    for one in demands:
        has[one.owner] += found[one.run]
        can_use[one.owner] += most(one)
    for one in demands:
        if one.owner_window is not None:
            can_use[one.owner] = min(can_use[one.owner], one.owner_window)
    return has, can_use


@given(st.integers(1, 120), demanded())
def test_nobody_has_more_than_they_want_may_have_or_there_is(room: int, demands: list[Demand]):
    found = windows(room, demands)
    has, can_use = by_owner(demands, found)
    assert all(0 <= found[one.run] <= most(one) for one in demands)
    assert all(has[owner] <= can_use[owner] for owner in has)
    single = sum(found[one.run] == 1 for one in demands)
    assert sum(found.values()) <= room + single, "more than there is only so that none starves"


@given(st.integers(1, 120), demanded())
def test_no_room_is_left_while_somebody_could_use_it(room: int, demands: list[Demand]):
    found = windows(room, demands)
    _, can_use = by_owner(demands, found)
    assert sum(found.values()) >= min(room, sum(can_use.values()))


@given(st.integers(1, 120), demanded())
def test_an_owner_has_more_than_another_only_if_the_other_needs_no_more(
    room: int, demands: list[Demand]
):
    found = windows(room, demands)
    has, can_use = by_owner(demands, found)
    runs = Counter(one.owner for one in demands if most(one) > 0)
    for mine in has:
        for other in has:
            # One more by rounding; and one job for each run, however little room there is.
            if has[mine] > max(has[other] + 1, runs[mine]):
                assert has[other] == can_use[other]


@given(st.integers(1, 120), demanded())
def test_every_run_that_wants_something_moves_unless_a_quota_forbids(
    room: int, demands: list[Demand]
):
    found = windows(room, demands)
    wanting = Counter(one.owner for one in demands if most(one) > 0)
    for one in demands:
        if most(one) > 0 and (one.owner_window is None or one.owner_window >= wanting[one.owner]):
            assert found[one.run] >= 1


@given(st.integers(0, 500), st.lists(st.tuples(st.integers(1, 5), st.integers(0, 60)), max_size=8))
def test_a_division_is_in_proportion_but_for_one_where_nobody_is_content(
    room: int, rows: list[tuple[int, int]]
):
    claims = [Claim(weight, most) for weight, most in rows]
    given = divided(room, claims)
    assert sum(given) == min(room, sum(claim.most for claim in claims))
    unmet = [n for n, claim in enumerate(claims) if given[n] < claim.most]
    for mine in unmet:
        for n in range(len(claims)):
            # Nobody who is content has more for their weight than one who is not, but by rounding.
            assert given[n] * claims[mine].weight <= (given[mine] + 1) * claims[n].weight + 5

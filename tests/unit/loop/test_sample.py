from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_run import item, make_plan

from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.seeds import stream
from skillopt.loop import sample


def plan_of(
    n_items: int,
    *,
    batch_size: int = 4,
    accumulation: int = 1,
    epochs: int = 2,
    minibatch: int = 2,
    seed: int = 42,
) -> RunPlan:
    train = {
        "num_epochs": epochs,
        "batch_size": batch_size,
        "accumulation": accumulation,
        "seed": seed,
    }
    items = tuple(item(f"t-{i}", f"word{i}") for i in range(n_items))
    return make_plan(
        settings={"train": train, "gradient": {"minibatch_size": minibatch}},
        splits=Splits(train=items),
    )


def ids(items) -> list[str]:
    return [one.id for one in items]


def epoch_order(plan: RunPlan, epoch: int) -> list[str]:
    per_epoch = sample.steps_per_epoch(plan)
    first = (epoch - 1) * per_epoch + 1
    return [
        name
        for step in range(first, first + per_epoch)
        for name in ids(sample.batch_of(plan, step))
    ]


@settings(max_examples=60, deadline=None)
@given(
    n_items=st.integers(1, 30),
    batch_size=st.integers(1, 7),
    accumulation=st.integers(1, 3),
    epochs=st.integers(1, 3),
    seed=st.integers(0, 5),
)
def test_each_epoch_sees_each_item_once(n_items, batch_size, accumulation, epochs, seed):
    plan = plan_of(
        n_items, batch_size=batch_size, accumulation=accumulation, epochs=epochs, seed=seed
    )
    everything = sorted(ids(plan.splits.train))
    for epoch in range(1, epochs + 1):
        assert sorted(epoch_order(plan, epoch)) == everything
    assert sample.total_steps(plan) == epochs * sample.steps_per_epoch(plan)
    assert sample.epoch_of(plan, sample.total_steps(plan)) == epochs


def test_the_last_batch_of_an_epoch_is_short_rather_than_filled_up():
    plan = plan_of(10, batch_size=4)
    assert [len(sample.batch_of(plan, step)) for step in (1, 2, 3, 4)] == [4, 4, 2, 4]


def test_accumulation_makes_a_batch_of_several_microbatches():
    assert len(sample.batch_of(plan_of(20, batch_size=4, accumulation=3), 1)) == 12


def test_epochs_are_numbered_from_one_and_change_with_their_first_step():
    plan = plan_of(10, batch_size=4)
    assert [sample.epoch_of(plan, step) for step in (1, 3, 4, 6)] == [1, 1, 2, 2]


def test_epochs_have_orders_of_their_own():
    plan = plan_of(30, epochs=4)
    orders = [tuple(epoch_order(plan, epoch)) for epoch in range(1, 5)]
    assert len(set(orders)) == 4
    stay = sum(a == b for a, b in zip(orders[0], orders[1], strict=True))
    assert stay < 10, "the second epoch repeats the first one's order"


def test_another_seed_gives_another_order():
    assert epoch_order(plan_of(30, seed=1), 1) != epoch_order(plan_of(30, seed=2), 1)


def test_streams_of_different_purposes_are_not_correlated():
    names = [("epoch-plan", 1), ("epoch-plan", 2), ("minibatch", 1), ("slow-sample", 1)]
    draws = [[stream(42, *name).random() for name in names] for _ in range(2)]
    assert draws[0] == draws[1], "a stream must not remember earlier draws"
    assert len(set(draws[0])) == len(names)


@settings(max_examples=60, deadline=None)
@given(n_items=st.integers(1, 20), minibatch=st.integers(1, 6), step=st.integers(1, 5))
def test_shards_part_a_batch_without_loss(n_items, minibatch, step):
    plan = plan_of(n_items, batch_size=n_items, minibatch=minibatch)
    batch = sample.batch_of(plan, step)
    shards = sample.shards_of(plan, step, batch)
    assert sorted(ids(one for shard in shards for one in shard)) == sorted(ids(batch))
    assert all(len(shard) == minibatch for shard in shards[:-1])


def test_shards_are_the_same_each_time_and_differ_between_steps():
    plan = plan_of(24, batch_size=24, minibatch=6)
    batch = sample.batch_of(plan, 1)
    assert sample.shards_of(plan, 1, batch) == sample.shards_of(plan, 1, batch)
    assert sample.shards_of(plan, 1, batch) != sample.shards_of(plan, 2, batch)


def test_the_order_of_a_known_seed_stays_what_it_was():
    """A run that is resumed by a later version must see the same batches."""
    plan = plan_of(6, batch_size=3)
    found = [ids(sample.batch_of(plan, step)) for step in (1, 2, 3)]
    assert found == [["t-2", "t-1", "t-3"], ["t-5", "t-4", "t-0"], ["t-2", "t-4", "t-5"]]


# --- the end of an epoch ------------------------------------------------------------------------


def test_the_order_of_an_epoch_end_holds_each_train_item_once():
    plan = plan_of(30)
    assert sorted(ids(sample.slow_order(plan, 2))) == sorted(ids(plan.splits.train))
    assert sample.slow_order(plan, 2) == sample.slow_order(plan, 2)


def test_the_order_of_an_epoch_end_repeats_that_of_no_epoch():
    plan = plan_of(40, epochs=30)
    heads = {tuple(epoch_order(plan, epoch)[:10]) for epoch in range(1, 31)}
    slow = {tuple(ids(sample.slow_order(plan, epoch))[:10]) for epoch in range(2, 16)}
    assert len(heads) == 30 and len(slow) == 14
    assert not heads & slow
    overlap = [len(set(one) & set(other)) for one in heads for other in slow]
    assert 2 < sum(overlap) / len(overlap) < 3, "a quarter of ten, as chance has it"

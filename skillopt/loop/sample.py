"""Which items a step trains on, and how a batch is cut for the analysts."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.domain.item import Item
from skillopt.domain.plan import RunPlan
from skillopt.domain.seeds import stream


def steps_per_epoch(plan: RunPlan) -> int:
    size = plan.settings.train.batch_size * plan.settings.train.accumulation
    return -(-len(plan.splits.train) // size)


def total_steps(plan: RunPlan) -> int:
    return plan.settings.train.num_epochs * steps_per_epoch(plan)


def epoch_of(plan: RunPlan, step: int) -> int:
    """Epochs and steps count from 1."""
    return (step - 1) // steps_per_epoch(plan) + 1


def batch_of(plan: RunPlan, step: int) -> tuple[Item, ...]:
    """Give the items of a step: each epoch sees every item once; its last batch may be short."""
    train = plan.settings.train
    epoch = epoch_of(plan, step)
    order = list(plan.splits.train)
    stream(train.seed, "epoch-plan", epoch).shuffle(order)
    size = train.batch_size * train.accumulation
    first = (step - 1) % steps_per_epoch(plan) * size
    return tuple(order[first : first + size])


def shards_of(plan: RunPlan, step: int, batch: Sequence[Item]) -> list[tuple[Item, ...]]:
    """Cut a batch into shards before anything is known of it, so that a shard can be analysed
    as soon as its own members are judged.
    """
    order = list(batch)
    stream(plan.settings.train.seed, "minibatch", step).shuffle(order)
    size = plan.settings.gradient.minibatch_size
    return [tuple(order[i : i + size]) for i in range(0, len(order), size)]


def slow_order(plan: RunPlan, epoch: int) -> tuple[Item, ...]:
    """Give all train items in the order in which an epoch's end draws from them."""
    order = list(plan.splits.train)
    stream(plan.settings.train.seed, "slow-sample", epoch).shuffle(order)
    return tuple(order)

"""Deciding a gate early, without a chance of deciding it otherwise than with all results."""

from __future__ import annotations

from skillopt.domain.events import Measurement
from skillopt.domain.item import Item
from skillopt.domain.run import RunState
from skillopt.loop.gate_rules import GateRules


def gate_order(state: RunState) -> tuple[Item, ...]:
    """Give the val items in the order in which a gate looks at them."""
    return state.plan.splits.val


def deciding_prefix(measured: Measurement, current: Measurement, rules: GateRules) -> int | None:
    """Give the number of items, the fewest possible, after which the candidate cannot be
    accepted any more whatever the others bring; None if it still can.

    `measured` holds the complete items at the head of the gate's order; the items of `current`
    that it does not have are open.
    """
    return None

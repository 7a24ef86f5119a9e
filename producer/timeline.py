"""Steps and ends of epochs in the order in which they happened."""

from __future__ import annotations

from collections.abc import Iterator

from skillopt.domain.run import EpochEnd, RunState, StepState

Part = StepState | EpochEnd


def in_order(state: RunState) -> Iterator[Part]:
    """Give every part of a run: each step, and an epoch's end after its last step."""
    last = {step.started.epoch: step.started.step for step in state.steps}
    for step in state.steps:
        yield step
        epoch = step.started.epoch
        if epoch in state.epoch_ends and last[epoch] == step.started.step:
            yield state.epoch_ends[epoch]


def last_step_of(state: RunState, end: EpochEnd) -> int:
    """Give the number of the last step of the epoch that ended."""
    steps = [step.started.step for step in state.steps if step.started.epoch == end.compared.epoch]
    return max(steps, default=0)

"""How far a run is, and from that how long it still takes and what it will have cost.

Work is counted in attempts at tasks: they are what takes the time and the money. What is ahead is
foreseen at the size that past steps had, for gates decide early and batches end short. A run that
ends before its last step (saturated, stop rules) takes less.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.item import SplitName
from skillopt.domain.run import ENDED, EpochEnd, RunState, StepState
from skillopt.domain.view import RunView
from skillopt.loop.sample import total_steps


@dataclass(frozen=True)
class Work:
    """Attempts that are done, and those that are probably ahead."""

    done: float
    left: float

    def scaled(self, so_far: float) -> float | None:
        """Give what `so_far` will have become at the end; None if nothing is known yet."""
        return so_far * (self.done + self.left) / self.done if self.done > 0 else None

    def left_of(self, so_far: float) -> float | None:
        """Give what is probably still to come on top of `so_far`."""
        return so_far * self.left / self.done if self.done > 0 else None


def work_of(state: RunState, view: RunView) -> Work:
    """Count a run's work; `view` tells how far the stage under way is."""
    if state.plan.mode == "train":
        return _training(state, view)
    return _measurements(state, view)


def _measurements(state: RunState, view: RunView) -> Work:
    plan = state.plan
    if plan.mode == "aa":
        each = _attempts(state, "val")
        total, measured = each * plan.arms, each * len(state.arms)
    else:
        total = _attempts(state, plan.eval_split or "test")
        measured = total if state.measured else 0
    done = min(total, measured + view.done)
    return Work(done, 0 if state.status in ENDED else total - done)


def _training(state: RunState, view: RunView) -> Work:
    baseline, val = _measured(state, state.plan.initial_key, "val"), _attempts(state, "val")
    ended = [_of_step(state, step) for step in state.steps if step.ended]
    each = sum(ended) / len(ended) if ended else _planned_step(state)
    ends = [_of_end(state, end) for end in state.epoch_ends.values()]
    tested, tests_left = _tests(state)
    under_way = 0.0 if state.step is None else _of_step(state, state.step)
    stage = view.done if _counts(view.stage) else 0
    done = (val if baseline else 0) + sum(ended) + under_way + sum(ends) + tested + stage
    if state.status in ENDED:
        return Work(done, 0)
    left = (0 if baseline else val) + (total_steps(state.plan) - len(ended)) * each - under_way
    left += _ends_ahead(state) + tests_left - stage
    return Work(done, max(0.0, left))


def _counts(stage: str) -> bool:
    """Whether the stage under way counts attempts that no event tells of yet."""
    return stage in ("baseline", "final test") or stage.endswith((" / rollout", " gate", "/ gate"))


def _attempts(state: RunState, split: SplitName) -> int:
    return len(state.plan.splits.of(split)) * state.plan.settings.evaluation.samples


def _measured(state: RunState, skill: str, split: SplitName) -> bool:
    return (skill, split) in state.measured


def _planned_step(state: RunState) -> float:
    settings = state.plan.settings
    size = settings.train.batch_size * settings.train.accumulation
    batch = min(size, len(state.plan.splits.train)) * settings.train.samples
    return batch + _attempts(state, "val")


def _of_step(state: RunState, step: StepState) -> float:
    settings = state.plan.settings
    batch = len(step.started.items) * settings.train.samples if step.reflected else 0
    gated = len(step.gated.measurement.items) if step.gated else 0
    return batch + gated * settings.evaluation.samples


def _of_end(state: RunState, end: EpochEnd) -> float:
    gated = len(end.gated.measurement.items) if end.gated else 0
    return 2 * len(end.compared.sampled) + gated * state.plan.settings.evaluation.samples


def _ends_ahead(state: RunState) -> float:
    optimizer, train = state.plan.settings.optimizer, state.plan.splits.train
    if not optimizer.use_slow_update and not optimizer.use_meta_skill:
        return 0.0
    ahead = max(0, state.plan.settings.train.num_epochs - 1 - len(state.epoch_ends))
    gate = _attempts(state, "val") if optimizer.use_slow_update else 0
    return ahead * (2 * min(optimizer.slow_update_samples, len(train)) + gate)


def _tests(state: RunState) -> tuple[float, float]:
    """Give the attempts of tests that are done, and of those still due as things stand."""
    each = _attempts(state, "test")
    documents = {state.plan.initial_key, state.best, state.current}
    done = sum(split == "test" for _, split in state.measured)
    due = sum(not _measured(state, document, "test") for document in documents)
    return done * each, due * each if state.plan.settings.evaluation.eval_test else 0

"""Pairs: what became of training tasks between the document of the epoch before and the present
one. Both are rolled out on the same tasks with the same sample, together.

A task without a result for both documents is no pair. Missing results are waited for as
everywhere; they are never taken for failures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.events import Compared
from skillopt.domain.item import Item
from skillopt.domain.reports import Pair
from skillopt.domain.run import RunState
from skillopt.domain.spec import PairPolicy
from skillopt.domain.steering_events import Paused
from skillopt.loop import sample
from skillopt.loop.coverage import too_little
from skillopt.loop.decision import Decision, waiting
from skillopt.loop.evaluate import Attempt, Evaluation, evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory

#: A task passes a comparison from this hard score on.
PASSED = 1.0


@dataclass(frozen=True)
class Arms:
    """Two documents on the same tasks; one arm if they are the same document."""

    previous: Evaluation
    current: Evaluation

    @property
    def both(self) -> Evaluation:
        """Give all attempts of both arms, each once."""
        if self.previous.skill == self.current.skill:
            return self.current
        attempts = (*self.previous.attempts, *self.current.attempts)
        return Evaluation(self.current.skill, "train", attempts)

    def pairs(self) -> list[Pair]:
        """Pair the tasks that have a score in both arms, in order."""
        before, after = self.previous.measurement().items, self.current.measurement().items
        found = []
        for item, score in after.items():
            first, second = before[item].hard, score.hard
            if first is not None and second is not None:
                found.append(_pair(item, first >= PASSED, second >= PASSED))
        return found

    @property
    def attempts(self) -> dict[str, tuple[Attempt, Attempt]]:
        """Give the attempts of both documents at each task."""
        both = zip(self.previous.attempts, self.current.attempts, strict=True)
        return {second.item.id: (first, second) for first, second in both}


def _pair(item: str, before: bool, after: bool) -> Pair:
    if before == after:
        return Pair(item=item, change="stable_success" if after else "persistent_fail")
    return Pair(item=item, change="improved" if after else "regressed")


def compare(state: RunState, facts: Facts, factory: JobFactory, epoch: int) -> Decision:
    """Roll out a sample of the train tasks with both documents and keep the pairs wanted.

    The policy `changed` goes on with all other train tasks at once if the sample has too few.
    """
    optimizer = state.plan.settings.optimizer
    policy, wanted = optimizer.longitudinal_pair_policy, optimizer.slow_update_samples
    previous, current = document_before(state, epoch), state.current
    order = sample.slow_order(state.plan, epoch)
    # One document cannot differ from itself: nothing is bought to see that it does not.
    tasks = () if policy == "changed" and previous == current else order[:wanted]
    label = f"epoch {epoch} / compare"
    while True:
        arms = arms_on(state, facts, factory, (previous, current), tasks, label)
        if not arms.both.complete:
            return waiting(label, arms.both)
        short = _too_little(state, arms, label)
        if short:
            return Decision((short,))
        pairs = kept_pairs(arms.pairs(), policy)
        if policy != "changed" or len(pairs) >= wanted or len(tasks) in (0, len(order)):
            break
        tasks = order
    compared = Compared(
        epoch=epoch,
        previous=previous,
        current=current,
        policy=policy,
        sampled=tuple(task.id for task in tasks),
        pairs=tuple(pairs[:wanted]),
    )
    return Decision((compared,))


def document_before(state: RunState, epoch: int) -> str:
    """Name the document that was current when an epoch began."""
    return next(step.started.skill for step in state.steps if step.started.epoch == epoch)


def arms_on(
    state: RunState,
    facts: Facts,
    factory: JobFactory,
    documents: tuple[str, str],
    tasks: Sequence[Item],
    label: str,
) -> Arms:
    first, second = (
        evaluate(
            state,
            facts,
            factory,
            skill=document,
            split="train",
            items=tasks,
            samples=range(1),
            stage=f"{label} {name}",
        )
        for name, document in zip(("previous", "current"), documents, strict=True)
    )
    return Arms(first, second)


def kept_pairs(pairs: Sequence[Pair], policy: PairPolicy) -> list[Pair]:
    changed = ("improved", "regressed")
    return [
        pair
        for pair in pairs
        if policy == "mixed" or (pair.change in changed) == (policy == "changed")
    ]


def _too_little(state: RunState, arms: Arms, label: str) -> Paused | None:
    for name, arm in (("previous", arms.previous), ("current", arms.current)):
        stage = f"{label} {name}"
        short = too_little(state, arm.measurement(), stage, may_be_empty=True)
        if short:
            return short
    return None

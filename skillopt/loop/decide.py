"""decide(state, facts) -> what to do next: events to write, jobs to want.

Pure: the same state and ledger always give the same decision, whatever the order in which
results arrived. Jobs come in order of importance; tests of the initial document run in the
background, behind everything a decision is waiting for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skillopt.domain.events import Finished, Measured
from skillopt.domain.item import SplitName
from skillopt.domain.run import RunState
from skillopt.loop import epoch_end, sample, step
from skillopt.loop.coverage import too_little
from skillopt.loop.decision import Decision, waiting
from skillopt.loop.evaluate import Evaluation, evaluate, reasons_of_invalid
from skillopt.loop.facts import Facts
from skillopt.loop.gate import EPSILON, score_of
from skillopt.loop.jobs import JobFactory

__all__ = ["Decision", "decide"]

StopReason = Literal["completed", "saturated", "patience", "target_score"]


def decide(state: RunState, facts: Facts, factory: JobFactory) -> Decision:
    """Say what a run needs now."""
    if state.status != "running":
        return Decision(stage=state.status)
    return _Decider(state, facts, factory).decide()


@dataclass(frozen=True)
class _Decider:
    state: RunState
    facts: Facts
    factory: JobFactory

    def decide(self) -> Decision:
        plan = self.state.plan
        if plan.mode == "eval":
            return self._evaluate_only(plan.eval_split or "test")
        if plan.mode == "aa":
            return self._measure_arms()
        decision = self._train()
        return decision if decision.events else self._with_background(decision)

    def _train(self) -> Decision:
        state = self.state
        if (state.plan.initial_key, "val") not in state.measured:
            return self._measure(state.plan.initial_key, "val", "baseline")
        if state.step is not None:
            return step.go_on(state, self.facts, self.factory, state.step)
        reason = self._goal_reached()
        if reason is None and epoch_end.is_due(state):
            return epoch_end.epoch_end(state, self.facts, self.factory)
        if reason is None and len(state.steps) < sample.total_steps(state.plan):
            return step.start_step(state)
        return self._finish(reason or "completed")

    # --- measuring --------------------------------------------------------------------------

    def _evaluation(self, skill: str, split: SplitName, stage: str, arm: int = 0) -> Evaluation:
        samples = self.state.plan.settings.evaluation.samples
        return evaluate(
            self.state,
            self.facts,
            self.factory,
            skill=skill,
            split=split,
            items=self.state.plan.splits.of(split),
            samples=range(arm * samples, (arm + 1) * samples),
            stage=stage,
        )

    def _measure(self, skill: str, split: SplitName, stage: str, arm: int = 0) -> Decision:
        evaluation = self._evaluation(skill, split, stage, arm)
        if not evaluation.complete:
            return waiting(stage, evaluation)
        measurement = evaluation.measurement()
        # A test decides nothing: one without any valid item is recorded as such.
        may_be_empty = split == "test" and self.state.plan.mode == "train"
        short = too_little(
            self.state,
            measurement,
            stage,
            may_be_empty=may_be_empty,
            invalid_because=lambda: reasons_of_invalid(evaluation, self.facts),
        )
        return Decision((short,) if short else (Measured(measurement=measurement, arm=arm),))

    def _evaluate_only(self, split: SplitName) -> Decision:
        skill = self.state.plan.initial_key
        if (skill, split) not in self.state.measured:
            return self._measure(skill, split, f"eval {split}")
        return Decision((Finished(reason="evaluated", best=skill),))

    def _measure_arms(self) -> Decision:
        """Measure one document several times, each time with samples of its own."""
        plan, arm = self.state.plan, len(self.state.arms)
        if arm == plan.arms:
            return Decision((Finished(reason="evaluated", best=plan.initial_key),))
        decision = self._measure(plan.initial_key, "val", f"arm {arm + 1}", arm)
        if decision.events:
            return decision
        later = [
            job
            for n in range(arm + 1, plan.arms)
            for job in self._evaluation(plan.initial_key, "val", f"arm {n + 1}", n).wanted
        ]
        return replace(decision, wanted=(*decision.wanted, *later))

    # --- the end ----------------------------------------------------------------------------

    def _goal_reached(self) -> StopReason | None:
        state, stop = self.state, self.state.stop
        measured = state.measured[(state.current, "val")]
        kept = {item: s for item, s in measured.items.items() if item not in state.left_out}
        compared = measured.model_copy(update={"items": kept})
        # A mean over what an outage left is no goal reached: a finished run stays finished.
        is_whole = compared.completeness == 1.0
        score = score_of(compared, state.plan.settings.evaluation) or 0.0
        if is_whole and score >= 1.0 - EPSILON:
            return "saturated"
        if is_whole and stop.target_score is not None and score >= stop.target_score - EPSILON:
            return "target_score"
        if stop.patience is not None and len(state.steps) >= stop.patience:
            before = len(state.steps) - stop.patience
            if not any(g.verdict == "accept" and g.step > before for g in state.gates):
                return "patience"
        return None

    def _finish(self, reason: StopReason) -> Decision:
        """Test the documents that matter, all together, and end."""
        state = self.state
        documents = dict.fromkeys([state.best, state.plan.initial_key, state.current])
        open_tests = [key for key in documents if (key, "test") not in state.measured]
        tested = state.plan.settings.evaluation.eval_test and state.plan.splits.test
        if not tested or not open_tests:
            return Decision((Finished(reason=reason, best=state.best),))
        first, *others = open_tests
        decision = self._measure(first, "test", "final test")
        return decision if decision.events else self._with_tests(decision, others, "final test")

    def _with_background(self, decision: Decision) -> Decision:
        """Add the test of the initial document behind the jobs that a decision waits for."""
        plan = self.state.plan
        initial = plan.initial_key
        if not plan.settings.evaluation.eval_test or (initial, "test") in self.state.measured:
            return decision
        return self._with_tests(decision, [initial], "initial test")

    def _with_tests(self, decision: Decision, documents: Sequence[str], stage: str) -> Decision:
        """Want the tests of documents as well; a job that is wanted already is not repeated."""
        wanted = {job.id: job for job in decision.wanted}
        for document in documents:
            for job in self._evaluation(document, "test", stage).wanted:
                wanted.setdefault(job.id, job)
        return replace(decision, wanted=tuple(wanted.values()))

"""decide(state, facts) -> what to do next: events to write, jobs to want.

Pure: the same state and ledger always give the same decision, whatever the order in which
results arrived. Jobs come in order of importance; tests of the initial document run in the
background, behind everything a decision is waiting for.
"""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.domain.events import (
    Event,
    Finished,
    Gated,
    Measured,
    Merged,
    Paused,
    Reflected,
    Skipped,
    StepStarted,
)
from skillopt.domain.item import SplitName
from skillopt.domain.run import RunState, StepState
from skillopt.loop import sample
from skillopt.loop.aggregate import aggregate
from skillopt.loop.coverage import too_little
from skillopt.loop.evaluate import Evaluation, evaluate
from skillopt.loop.facts import Facts
from skillopt.loop.gate import EPSILON, judge_candidate, score_of
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.reflect import analyse, groups_of, report_of
from skillopt.loop.schedule import edit_budget
from skillopt.loop.select import select
from skillopt.loop.update import update


@dataclass(frozen=True)
class Decision:
    """Events come first: once they are written, decide again."""

    events: tuple[Event, ...] = ()
    wanted: tuple[WantedJob, ...] = ()
    stage: str = ""
    done: int = 0
    total: int = 0


def decide(state: RunState, facts: Facts, factory: JobFactory) -> Decision:
    """Say what a run needs now."""
    if state.finished or state.paused:
        return Decision(stage=state.status)
    return _Decider(state, facts, factory).decide()


@dataclass(frozen=True)
class _Decider:
    state: RunState
    facts: Facts
    factory: JobFactory

    def decide(self) -> Decision:
        plan = self.state.plan
        initial = plan.skill_hash
        if plan.mode == "eval":
            return self._measure_then_finish(initial, plan.eval_split or "test")
        if (initial, "val") not in self.state.measured:
            decision = self._measure(initial, "val", "baseline")
        elif self.state.step is not None:
            decision = self._step(self.state.step)
        else:
            reason = self._stop_reason()
            decision = self._start_step() if reason is None else self._finish(reason)
        return decision if decision.events else self._with_background(decision)

    # --- measuring --------------------------------------------------------------------------

    def _evaluation(self, skill: str, split: SplitName, stage: str) -> Evaluation:
        settings = self.state.plan.settings.evaluation
        return evaluate(
            self.state,
            self.facts,
            self.factory,
            skill=skill,
            split=split,
            items=self.state.plan.splits.of(split),
            samples=settings.samples,
            stage=stage,
        )

    def _measure(self, skill: str, split: SplitName, stage: str) -> Decision:
        evaluation = self._evaluation(skill, split, stage)
        if not evaluation.complete:
            return self._waiting(stage, evaluation)
        measurement = evaluation.measurement()
        # A test decides nothing: one without any valid item is recorded as such.
        may_be_empty = split == "test" and self.state.plan.mode == "train"
        short = too_little(self.state, measurement, stage, may_be_empty=may_be_empty)
        return Decision((short,) if short else (Measured(measurement=measurement),))

    def _measure_then_finish(self, skill: str, split: SplitName) -> Decision:
        if (skill, split) not in self.state.measured:
            return self._measure(skill, split, f"eval {split}")
        return Decision((Finished(reason="evaluated", best=skill),))

    # --- a step -----------------------------------------------------------------------------

    def _start_step(self) -> Decision:
        plan, number = self.state.plan, len(self.state.steps) + 1
        started = StepStarted(
            step=number,
            epoch=sample.epoch_of(plan, number),
            skill=self.state.current,
            items=tuple(item.id for item in sample.batch_of(plan, number)),
            edit_budget=edit_budget(plan.settings.optimizer, number, sample.total_steps(plan)),
        )
        return Decision((started,))

    def _step(self, step: StepState) -> Decision:
        if step.started.edit_budget == 0:
            detail = "the edit budget of this step is 0"
            skipped = Skipped(step=step.started.step, reason="no_edits", detail=detail)
            return Decision((skipped,))
        if step.reflected is None:
            return self._reflect(step)
        if step.merged is None:
            return self._merge(step)
        if step.selected is None:
            return self._select(step)
        if step.proposed is None:
            return Decision((update(self.state, step),))
        return self._gate(step, step.proposed.skill)

    def _reflect(self, step: StepState) -> Decision:
        plan, number = self.state.plan, step.started.step
        batch = sample.batch_of(plan, number)
        shards = sample.shards_of(plan, number, batch)
        evaluations = [
            evaluate(
                self.state,
                self.facts,
                self.factory,
                skill=step.started.skill,
                split="train",
                items=shard,
                samples=plan.settings.train.samples,
                stage=f"step {number} / rollout",
            )
            for shard in shards
        ]
        attempts = tuple(a for evaluation in evaluations for a in evaluation.attempts)
        whole = Evaluation(step.started.skill, "train", attempts)
        if whole.complete:
            stage = f"step {number} rollout"
            short = too_little(self.state, whole.measurement(), stage, may_be_empty=True)
            if short:
                return Decision((short,))
        wanted, reports = list(whole.wanted), []
        for index, evaluation in enumerate(evaluations):
            if not evaluation.complete or (evaluation.has_missing and not whole.complete):
                # Its analysts start when the shard's own members are judged; with a member
                # missing, when it is known that the run goes on without it.
                continue
            only = plan.settings.gradient.failure_only
            for group in groups_of(index, evaluation.attempts, failure_only=only):
                answer = analyse(self.state, self.facts, self.factory, step, group)
                if answer.status == "given_up":
                    return self._optimizer_missing(answer.problem)
                if answer.wanted:
                    wanted.append(answer.wanted)
                reports.append(report_of(group, answer, step.started.edit_budget))
        if wanted:
            done = sum(attempt.settled for attempt in attempts)
            stage = "reflect" if whole.complete else "rollout"
            return Decision(
                wanted=tuple(wanted), stage=f"step {number} / {stage}",
                done=done, total=len(attempts),
            )  # fmt: skip
        measured = whole.measurement()
        return Decision((Reflected(step=number, batch=measured, groups=tuple(reports)),))

    def _merge(self, step: StepState) -> Decision:
        merging = aggregate(self.state, self.facts, self.factory, step)
        if merging.given_up:
            return self._optimizer_missing(merging.given_up)
        number = step.started.step
        if merging.edits is None:
            return Decision(wanted=merging.wanted, stage=f"step {number} / merge")
        return Decision((Merged(step=number, edits=merging.edits, merges=merging.reports),))

    def _select(self, step: StepState) -> Decision:
        selecting = select(self.state, self.facts, self.factory, step)
        if selecting.given_up:
            return self._optimizer_missing(selecting.given_up)
        if selecting.selected is None:
            return Decision(wanted=selecting.wanted, stage=f"step {step.started.step} / rank")
        return Decision((selecting.selected,))

    def _gate(self, step: StepState, candidate: str) -> Decision:
        number = step.started.step
        evaluation = self._evaluation(candidate, "val", f"step {number} / gate")
        if not evaluation.complete:
            return self._waiting(f"step {number} / gate", evaluation)
        settings = self.state.plan.settings.evaluation
        measurement = evaluation.measurement()
        current = self.state.measured[(self.state.current, "val")]
        verdict = judge_candidate(measurement, current, settings)
        best = self.state.measured[(self.state.best, "val")]
        beats_best = judge_candidate(measurement, best, settings).verdict == "accept"
        gated = Gated(
            step=number,
            skill=candidate,
            verdict=verdict.verdict,
            new_best=verdict.verdict == "accept" and beats_best,
            metric=settings.gate_metric,
            candidate_score=verdict.candidate,
            current_score=verdict.current,
            pairs=verdict.pairs,
            improved=verdict.improved,
            regressed=verdict.regressed,
            reason=verdict.reason,
            measurement=measurement,
        )
        if verdict.verdict != "indecisive":
            return Decision((gated,))
        short = too_little(self.state, measurement, f"step {number} gate")
        pause = short or Paused(why="coverage", detail=verdict.reason)
        return Decision((gated, pause))

    # --- the end ----------------------------------------------------------------------------

    def _stop_reason(self) -> str | None:
        plan = self.state.plan
        settings, stop = plan.settings.evaluation, plan.settings.stop
        score = score_of(self.state.measured[(self.state.current, "val")], settings) or 0.0
        if score >= 1.0 - EPSILON:
            return "saturated"
        if stop.target_score is not None and score >= stop.target_score - EPSILON:
            return "target_score"
        if len(self.state.steps) >= sample.total_steps(plan):
            return "completed"
        if stop.patience is not None and len(self.state.steps) >= stop.patience:
            recent = self.state.steps[-stop.patience :]
            if not any(step.gated and step.gated.verdict == "accept" for step in recent):
                return "patience"
        return None

    def _finish(self, reason: str) -> Decision:
        state = self.state
        if state.plan.settings.evaluation.eval_test and state.plan.splits.test:
            for skill in dict.fromkeys([state.best, state.plan.skill_hash, state.current]):
                if (skill, "test") not in state.measured:
                    return self._measure(skill, "test", "final test")
        return Decision((Finished(reason=reason, best=state.best),))

    # --- shared -----------------------------------------------------------------------------

    def _with_background(self, decision: Decision) -> Decision:
        """Add the test of the initial document behind the jobs that a decision waits for."""
        plan = self.state.plan
        initial = plan.skill_hash
        if not plan.settings.evaluation.eval_test or (initial, "test") in self.state.measured:
            return decision
        known = {job.id for job in decision.wanted}
        background = [
            job
            for job in self._evaluation(initial, "test", "initial test").wanted
            if job.id not in known
        ]
        return Decision(
            wanted=(*decision.wanted, *background),
            stage=decision.stage,
            done=decision.done,
            total=decision.total,
        )

    def _waiting(self, stage: str, evaluation: Evaluation) -> Decision:
        attempts = evaluation.attempts
        return Decision(
            wanted=tuple(evaluation.wanted),
            stage=stage,
            done=sum(attempt.settled for attempt in attempts),
            total=len(attempts),
        )

    def _optimizer_missing(self, problem: str) -> Decision:
        detail = f"an optimizer call cannot be made: {problem}"
        return Decision((Paused(why="infrastructure", detail=detail),))

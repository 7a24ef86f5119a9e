"""Aggregate: merge the analysts' changes by a tree of merge calls, failures before successes.

The branches are independent, so their calls are wanted at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from skillopt.domain.changes import Change
from skillopt.domain.events import Merged
from skillopt.domain.messages import Message
from skillopt.domain.reports import MergeReport
from skillopt.domain.run import RunState, StepState
from skillopt.domain.spec import UpdateMode
from skillopt.loop.ask import Answer, ask
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.guarded import guarded_changes
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.prompt_parts import (
    CHANGES_LIMIT,
    NOUNS,
    change_rows,
    meta_skill_section,
    section,
    shown_documents,
    system_prompt,
)
from skillopt.loop.provenance import Changes, distinct, inherited
from skillopt.loop.replies import MergeReply, parse_merge

Branch = Literal["failure", "success", "final"]


def aggregate(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Merged]:
    """Merge the changes of a reflected step."""
    assert step.reflected is not None
    groups = [(group.kind, group.edits) for group in step.reflected.groups if group.edits]
    merger = _Merger(state, facts, factory, step)
    failures = merger.tree("failure", [patch for kind, patch in groups if kind != "success"])
    successes = merger.tree("success", [patch for kind, patch in groups if kind == "success"])
    changes: Changes | None = None
    if failures is not None and successes is not None:
        both = [patch for patch in (failures, successes) if patch]
        changes = merger.merge("final", 1, both) if both else ()
    if changes is None:
        return StageResult(wanted=tuple(merger.wanted), given_up=merger.given_up)
    return StageResult(
        Merged(
            step=step.started.step,
            edits=changes,
            merges=tuple(merger.reports),
            blocked=tuple(merger.blocked),
        )
    )


def messages_for(
    state: RunState, step: StepState, changes: Sequence[Change]
) -> tuple[Message, ...]:
    mode = state.plan.settings.optimizer.skill_update_mode
    whole = mode == "full_rewrite_minibatch"
    sections = [
        *shown_documents(state, step.started.skill, outline=whole),
        *meta_skill_section(state),
        section(f"Proposed {NOUNS[mode]}", change_rows(changes)),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, "merge")),
        Message(role="user", content="\n".join(sections)),
    )


@dataclass
class _Merger:
    state: RunState
    facts: Facts
    factory: JobFactory
    step: StepState
    reports: list[MergeReport] = field(default_factory=list)
    blocked: list[Change] = field(default_factory=list)
    wanted: list[WantedJob] = field(default_factory=list)
    given_up: str = ""

    def tree(self, branch: Branch, patches: list[Changes]) -> Changes | None:
        """Merge level by level until one patch is left; None while replies are missing."""
        level = 0
        size = self.state.plan.settings.gradient.merge_batch_size
        while len(patches) > 1:
            level += 1
            chunks = [patches[i : i + size] for i in range(0, len(patches), size)]
            merged = [self.merge(branch, level, chunk) for chunk in chunks]
            if any(patch is None for patch in merged):
                return None
            patches = [patch for patch in merged if patch is not None]
        return patches[0] if patches else ()

    def merge(self, branch: Branch, level: int, chunk: Sequence[Changes]) -> Changes | None:
        inputs = distinct([change for patch in chunk for change in patch])
        if len(chunk) == 1 or len(inputs) <= max(len(distinct(patch)) for patch in chunk):
            return inputs  # one patch already says all that the others say
        length = len(change_rows(inputs))
        if length > CHANGES_LIMIT:
            # What was cut could not be merged, and a prompt that fits no model would end the run.
            problem = f"{length} characters of {NOUNS[self._mode]} do not fit into one prompt"
            return self._outcome(branch, level, inputs, Answer(status="failed", problem=problem))
        answer = ask(
            self.state,
            self.facts,
            self.factory,
            stage="merge",
            messages=messages_for(self.state, self.step, inputs),
            parse=partial(parse_merge, mode=self._mode),
            label=f"step {self.step.started.step} / merge {branch} {level}",
        )
        if answer.wanted:
            self.wanted.append(answer.wanted)
            return None
        if answer.status == "given_up":
            self.given_up = answer.problem
            return None
        return self._outcome(branch, level, inputs, answer)

    @property
    def _mode(self) -> UpdateMode:
        return self.state.plan.settings.optimizer.skill_update_mode

    def _outcome(
        self, branch: Branch, level: int, inputs: Changes, answer: Answer[MergeReply]
    ) -> Changes:
        """Take over what the reply merged, or the inputs as they are if that is nothing."""
        problems, kept = [answer.problem], inputs[:0]
        if answer.value:
            merged = inherited(answer.value.changes, inputs, self.state.plan.primary)
            documents = self.state.texts[self.step.started.skill]
            guarded = guarded_changes(self.state.plan, documents, merged)
            kept = guarded.kept
            problems += [*answer.value.problems, *guarded.problems]
            if guarded.blocked:
                self.blocked += guarded.blocked
                problems.append(f"{len(guarded.blocked)} repeat a training task's text")
        status: Literal["merged", "repaired", "fallback"]
        status = "repaired" if answer.status == "repaired" else "merged"
        if not kept:
            status, kept = "fallback", inputs
            if not any(problems):
                problems.append(f"the merge kept none of the {NOUNS[self._mode]}")
        if len(kept) > 1 and self._mode == "full_rewrite_minibatch":
            # Whole documents cannot stand side by side as edits can.
            problems.append(f"of {len(kept)} rewrites the first is kept")
            kept = kept[:1]
        self.reports.append(
            MergeReport(
                branch=branch,
                level=level,
                inputs=len(inputs),
                status=status,
                problem="; ".join(filter(None, problems)),
            )
        )
        return kept

"""Aggregate: merge the analysts' edits by a tree of merge calls, failures before successes.

Which tasks support an edit is carried along by us. A merged edit inherits the support of the
edits it came from, found by their text; one that resembles none inherits that of all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from skillopt.domain.changes import Change
from skillopt.domain.edits import Edit
from skillopt.domain.events import Merged, MergeReport
from skillopt.domain.messages import Message
from skillopt.domain.run import RunState, StepState
from skillopt.loop.ask import ask
from skillopt.loop.decision import StageResult
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory, WantedJob
from skillopt.loop.prompt_parts import edit_rows, fenced, section
from skillopt.loop.replies import MergeReply, parse_merge

Patch = tuple[Edit, ...]
Branch = Literal["failure", "success", "final"]

#: Share of common words from which a merged edit counts as coming from an input.
RESEMBLANCE = 0.4


@dataclass
class _Merger:
    state: RunState
    facts: Facts
    factory: JobFactory
    step: StepState
    reports: list[MergeReport] = field(default_factory=list)
    wanted: list[WantedJob] = field(default_factory=list)
    given_up: str = ""

    def tree(self, branch: Branch, patches: list[Patch]) -> Patch | None:
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

    def merge(self, branch: Branch, level: int, chunk: Sequence[Patch]) -> Patch | None:
        inputs = distinct([edit for patch in chunk for edit in patch])
        if len(chunk) == 1 or len(inputs) <= max(len(distinct(patch)) for patch in chunk):
            return inputs  # one patch already says all that the others say
        number = self.step.started.step
        answer = ask(
            self.state,
            self.facts,
            self.factory,
            stage="merge",
            messages=messages_for(self.state, self.step, inputs),
            parse=parse_merge,
            label=f"step {number} / merge {branch} {level}",
        )
        if answer.wanted:
            self.wanted.append(answer.wanted)
            return None
        if answer.status == "given_up":
            self.given_up = answer.problem
            return None
        edits = _from_reply(answer.value, inputs) if answer.value else ()
        status: Literal["merged", "repaired", "fallback"]
        status = "repaired" if answer.status == "repaired" else "merged"
        problem = answer.problem
        if not edits:
            status, problem = "fallback", problem or "the merge kept no edit"
        self.reports.append(
            MergeReport(
                branch=branch, level=level, inputs=len(inputs), status=status, problem=problem
            )
        )
        return edits or inputs


def aggregate(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState
) -> StageResult[Merged]:
    """Merge the edits of a reflected step."""
    assert step.reflected is not None
    groups = [(g.kind, found) for g in step.reflected.groups if (found := _edits(g.edits))]
    merger = _Merger(state, facts, factory, step)
    failures = merger.tree("failure", [patch for kind, patch in groups if kind != "success"])
    successes = merger.tree("success", [patch for kind, patch in groups if kind == "success"])
    edits: Patch | None = None
    if failures is not None and successes is not None:
        both = [patch for patch in (failures, successes) if patch]
        edits = merger.merge("final", 1, both) if both else ()
    if edits is None or merger.given_up:
        return StageResult(wanted=tuple(merger.wanted), given_up=merger.given_up)
    number, reports = step.started.step, tuple(merger.reports)
    return StageResult(Merged(step=number, edits=edits, merges=reports))


def _edits(changes: Sequence[Change]) -> Patch:
    return tuple(change for change in changes if isinstance(change, Edit))


def messages_for(state: RunState, step: StepState, edits: Sequence[Edit]) -> tuple[Message, ...]:
    user = "\n".join(
        [
            section("Current skill", fenced(state.texts[step.started.skill].skill)),
            section("Proposed edits", edit_rows(edits)),
        ]
    )
    return (
        Message(role="system", content=state.plan.templates["merge"]),
        Message(role="user", content=user),
    )


def distinct(edits: Sequence[Edit]) -> Patch:
    """Join edits that say the same; the first one keeps its place and gains the support.

    Only white space may differ: a literal text in capitals is another text.
    """
    kept: dict[tuple[str, str, str], Edit] = {}
    for edit in edits:
        key = (edit.op, edit.target.strip(), " ".join(edit.content.split()))
        first = kept.get(key)
        if first is None:
            kept[key] = edit
        else:
            kept[key] = first.model_copy(update={"support": _union(first, edit)})
    return tuple(kept.values())


def _from_reply(reply: MergeReply, inputs: Patch) -> Patch:
    merged = []
    for edit in reply.edits:
        sources = _sources(edit.op, edit.target, edit.content, inputs)
        failed = any(source.source_type == "failure" for source in sources)
        merged.append(
            Edit(
                op=edit.op,
                target=edit.target,
                content=edit.content,
                source_type="failure" if failed else "success",
                support=_union(*sources),
            )
        )
    return distinct(merged)


def _sources(op: str, target: str, content: str, inputs: Patch) -> Patch:
    words = _words(content or target)
    found = tuple(
        edit
        for edit in inputs
        if (edit.op == op and target and edit.target == target)
        or _resemblance(words, _words(edit.content or edit.target)) >= RESEMBLANCE
    )
    return found or inputs


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text.casefold()))


def _resemblance(one: frozenset[str], other: frozenset[str]) -> float:
    union = one | other
    return len(one & other) / len(union) if union else 1.0


def _union(*edits: Edit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(task for edit in edits for task in edit.support))

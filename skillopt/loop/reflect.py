"""Reflect: show analysts what failed, worked, or did both, and read the changes they propose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from skillopt.domain.edits import SourceType
from skillopt.domain.jobs import OptimizeStage
from skillopt.domain.messages import Message
from skillopt.domain.reports import GroupKind, GroupReport
from skillopt.domain.results import ReplyBody
from skillopt.domain.run import RunState, StepState
from skillopt.domain.spec import Gradient
from skillopt.loop.ask import Answer, ask
from skillopt.loop.attempt_text import AttemptText, Seen, seen
from skillopt.loop.contrast import contrasts, mixed_items, passed
from skillopt.loop.earlier_steps import earlier_steps_section
from skillopt.loop.evaluate import Attempt
from skillopt.loop.facts import Facts
from skillopt.loop.guarded import GuardedNotes, guarded_changes, guarded_notes
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import (
    NOUNS,
    cut,
    fenced,
    meta_skill_section,
    preferences_section,
    section,
    shown_documents,
    system_prompt,
)
from skillopt.loop.replies import AnalystReply, notes_wanted, parse_analyst, salvaged_analyst
from skillopt.loop.tally import failing_criteria

#: Characters of a task's own system prompt, and how many different ones are shown.
CONTRACT_LIMIT = 1_000
CONTRACTS = 2
#: Attempts at one task that an analyst sees.
ATTEMPTS_PER_TASK = 2

_STAGES: dict[GroupKind, OptimizeStage] = {
    "failure": "reflect_failure",
    "success": "reflect_success",
    "contrast": "reflect_contrast",
}


@dataclass(frozen=True)
class Group:
    """Attempts of a shard that one analyst sees."""

    shard: int
    kind: GroupKind
    attempts: tuple[Attempt, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(attempt.item.id for attempt in self.attempts))

    @property
    def source_type(self) -> SourceType:
        return "success" if self.kind == "success" else "failure"


def groups_of(shard: int, attempts: Sequence[Attempt], settings: Gradient) -> list[Group]:
    """Split a judged shard into at most one failure, one success and one contrast group.

    A task that both passed and failed is in the contrast group only.
    """
    scored = [attempt for attempt in attempts if attempt.scored]
    mixed = mixed_items(scored) if settings.contrastive else frozenset()
    rest = [attempt for attempt in scored if attempt.item.id not in mixed]
    members: dict[GroupKind, list[Attempt]] = {
        "failure": _few_of_each([attempt for attempt in rest if not passed(attempt)]),
        "success": _few_of_each([attempt for attempt in rest if passed(attempt)]),
        "contrast": [attempt for attempt in scored if attempt.item.id in mixed],
    }
    if settings.failure_only:
        members["success"] = []
    return [Group(shard, kind, tuple(found)) for kind, found in members.items() if found]


def _few_of_each(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Keep the first attempts at each task: more of them show the same thing again."""
    counts: Counter[str] = Counter()
    kept = []
    for attempt in attempts:
        counts[attempt.item.id] += 1
        if counts[attempt.item.id] <= ATTEMPTS_PER_TASK:
            kept.append(attempt)
    return kept


def analyse(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState, group: Group
) -> Answer[AnalystReply]:
    """Give an analyst's answer on a group, as far as it is known.

    If neither the reply nor its repair can be used as a whole, their whole changes still are; and
    those of the reply, if its repair lost every one of them.
    """
    mode = state.plan.settings.optimizer.skill_update_mode
    answer = ask(
        state,
        facts,
        factory,
        stage=_STAGES[group.kind],
        messages=messages_for(state, facts, step, group),
        parse=partial(parse_analyst, mode=mode),
        label=f"step {step.started.step} / reflect {group.kind} {group.shard}",
    )
    repaired_to_nothing = (
        answer.status == "repaired" and answer.value is not None and not answer.value.changes
    )
    if answer.status != "failed" and not repaired_to_nothing:
        return answer
    for job in reversed(answer.jobs):
        body = facts.body(job)
        rescued = salvaged_analyst(body.text, mode) if isinstance(body, ReplyBody) else None
        if rescued is not None and rescued.changes:
            told = f"{answer.problem}; whole {NOUNS[mode]} kept of it: {len(rescued.changes)}"
            return Answer(rescued, status="repaired", problem=told, jobs=answer.jobs)
    return answer


def messages_for(
    state: RunState, facts: Facts, step: StepState, group: Group
) -> tuple[Message, ...]:
    plan = state.plan
    by_agent = plan.backends["target"].agent
    shown = [seen(facts, attempt, by_agent=by_agent) for attempt in group.attempts]
    outline = plan.settings.optimizer.skill_update_mode == "full_rewrite_minibatch"
    parts = [
        *shown_documents(state, step.started.skill, outline=outline),
        section("Edits wanted", _edits_wanted(state, step)),
        *preferences_section(state),
    ]
    contract = _output_contract(shown)
    if contract:
        parts.append(section("Output contract", contract))
    if group.kind != "success":
        parts.append(
            section("Failing criteria", failing_criteria([one.judgement for one in shown]))
        )
    parts += earlier_steps_section(state, step)
    parts += meta_skill_section(state)
    parts.append(
        _evidence(group.kind, shown, AttemptText(plan.settings.gradient.trajectory_tokens))
    )
    system = system_prompt(
        plan, f"reflect_{group.kind}", skill_aware=_notes_wanted(state, group.kind)
    )
    return (
        Message(role="system", content=system),
        Message(role="user", content="\n".join(parts)),
    )


def report_of(
    state: RunState, step: StepState, group: Group, answer: Answer[AnalystReply]
) -> GroupReport:
    """Record what came of a group; provenance is ours: the tasks the analyst was shown."""
    if answer.value is None:
        return GroupReport(
            shard=group.shard,
            kind=group.kind,
            items=group.items,
            status="dropped",
            problem=answer.problem,
        )
    reply, plan, documents = answer.value, state.plan, state.texts[step.started.skill]
    proposed = [
        change.as_change(group.source_type, group.items, plan.primary) for change in reply.changes
    ]
    changes = guarded_changes(plan, documents, proposed)
    problems = [answer.problem, *reply.problems, *changes.problems]
    notes = GuardedNotes()
    if _notes_wanted(state, group.kind):
        notes = guarded_notes(plan, documents, reply.notes)
        problems += notes.problems
    elif reply.notes:
        problems.append(f"{len(reply.notes)} notes were not asked for and are left out")
    return GroupReport(
        shard=group.shard,
        kind=group.kind,
        items=group.items,
        status="repaired" if answer.status == "repaired" else "ok",
        problem="; ".join(filter(None, problems)),
        summary=reply.summary,
        edits=changes.kept[: step.edit_budget],
        blocked=changes.blocked,
        notes=notes.kept,
    )


def _notes_wanted(state: RunState, kind: GroupKind) -> bool:
    return notes_wanted(_STAGES[kind], state.plan.settings.optimizer)


def _edits_wanted(state: RunState, step: StepState) -> str:
    mode = state.plan.settings.optimizer.skill_update_mode
    if mode == "full_rewrite_minibatch":
        return "Propose one complete replacement of the document."
    noun, budget = NOUNS[mode], step.edit_budget
    if budget is None:
        return f"There is no limit: propose all the {noun} that the attempts call for."
    return f"Propose at most {budget} {noun if budget != 1 else noun.removesuffix('s')}."


def _output_contract(shown: Sequence[Seen]) -> str:
    systems = list(dict.fromkeys(one.item.prompt.system for one in shown if one.item.prompt.system))
    told = [fenced(cut(text, CONTRACT_LIMIT)) for text in systems[:CONTRACTS]]
    if len(systems) > CONTRACTS:
        told.append(f"{len(systems) - CONTRACTS} more differ from these.")
    return "\n\n".join(told)


def _evidence(kind: GroupKind, shown: Sequence[Seen], text: AttemptText) -> str:
    if kind == "contrast":
        return section("Contrasts", contrasts(shown, text))
    attempts = (text.whole(index, one) for index, one in enumerate(shown))
    return section("Attempts", "\n\n".join(attempts))

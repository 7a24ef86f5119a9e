"""Reflect: show analysts what failed (or worked) and read the edits they propose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.edits import Edit
from skillopt.domain.events import GroupKind, GroupReport
from skillopt.domain.item import Item
from skillopt.domain.messages import Message
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.domain.run import RunState, StepState
from skillopt.domain.spec import Gradient
from skillopt.errors import StateCorrupt
from skillopt.loop.ask import Answer, ask
from skillopt.loop.evaluate import Attempt, reply_body
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.prompt_parts import cut, earlier_steps, fenced, section
from skillopt.loop.replies import AnalystReply, parse_analyst

#: Characters of one attempt that an analyst sees; long texts keep their head and tail.
TASK_LIMIT = 2_000
CONTEXT_LIMIT = 2_000
ANSWER_LIMIT = 4_000
CONTRACT_LIMIT = 1_000


@dataclass(frozen=True)
class Seen:
    """One attempt with the texts an analyst is shown."""

    item: Item
    reply: ReplyBody
    judgement: JudgementBody


@dataclass(frozen=True)
class Group:
    shard: int
    kind: GroupKind
    attempts: tuple[Attempt, ...]

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(attempt.item.id for attempt in self.attempts))


def groups_of(shard: int, attempts: Sequence[Attempt], settings: Gradient) -> list[Group]:
    """Split a judged shard into at most one failure and one success group."""
    scored = [attempt for attempt in attempts if attempt.scored]
    failed = tuple(a for a in scored if a.judge_line and (a.judge_line.hard or 0.0) < 1.0)
    passed = tuple(a for a in scored if a not in failed)
    groups = [Group(shard, "failure", failed)] if failed else []
    if passed and not settings.failure_only:
        groups.append(Group(shard, "success", passed))
    return groups


def analyse(
    state: RunState, facts: Facts, factory: JobFactory, step: StepState, group: Group
) -> Answer[AnalystReply]:
    """Give an analyst's answer on a group, as far as it is known."""
    number = step.started.step
    return ask(
        state,
        facts,
        factory,
        stage="reflect_failure" if group.kind == "failure" else "reflect_success",
        messages=messages_for(state, facts, step, group),
        parse=parse_analyst,
        label=f"step {number} / reflect {group.kind} {group.shard}",
    )


def messages_for(
    state: RunState, facts: Facts, step: StepState, group: Group
) -> tuple[Message, ...]:
    seen = [_seen(facts, attempt) for attempt in group.attempts]
    epoch = step.started.epoch
    before = [s for s in state.steps if s.started.epoch == epoch and s.ended]
    parts = [
        section("Current skill", fenced(state.texts[step.started.skill].skill)),
        section("Edits wanted", f"Propose at most {step.started.edit_budget} edits."),
    ]
    if state.plan.settings.preferences:
        parts.append(section("What the user prefers", state.plan.settings.preferences))
    contract = _output_contract(seen)
    if contract:
        parts.append(section("Output contract", contract))
    if group.kind == "failure":
        parts.append(section("Failing criteria", failing_criteria(seen)))
    earlier = earlier_steps(before)
    if earlier:
        parts.append(section("Earlier steps", earlier))
    parts.append(section("Attempts", "\n\n".join(_attempt_text(i, s) for i, s in enumerate(seen))))
    system = state.plan.templates[f"reflect_{group.kind}"]
    return (
        Message(role="system", content=system),
        Message(role="user", content="\n".join(parts)),
    )


def failing_criteria(seen: Sequence[Seen]) -> str:
    """Tally what failed, verbatim and in plain words, most frequent first."""
    asked: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for one in seen:
        for criterion in one.judgement.criteria:
            asked[criterion.requirement] += 1
            failed[criterion.requirement] += not criterion.passed
    rows = sorted((-count, text) for text, count in failed.items() if count)
    lines = [f"- {text} (failed in {-n} of {asked[text]} attempts)" for n, text in rows]
    return "\n".join(lines) or "- the judge gave no criterion"


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
    edits = tuple(
        Edit(
            op=edit.op,
            target=edit.target,
            content=edit.content,
            source_type="success" if group.kind == "success" else "failure",
            support=group.items,
        )
        for edit in answer.value.edits[: step.started.edit_budget]
    )
    return GroupReport(
        shard=group.shard,
        kind=group.kind,
        items=group.items,
        status="repaired" if answer.status == "repaired" else "ok",
        problem="; ".join(filter(None, [answer.problem, *answer.value.problems])),
        summary=answer.value.summary,
        edits=edits,
    )


def _seen(facts: Facts, attempt: Attempt) -> Seen:
    if attempt.judgement is None:
        raise StateCorrupt(f"attempt {attempt.rollout!r} is shown before it was judged")
    judgement = facts.body(attempt.judgement)
    if not isinstance(judgement, JudgementBody):
        raise StateCorrupt(f"job {attempt.judgement!r} should hold a judgement")
    return Seen(attempt.item, reply_body(facts, attempt.rollout), judgement)


def _output_contract(seen: Sequence[Seen]) -> str:
    systems = dict.fromkeys(one.item.prompt.system for one in seen if one.item.prompt.system)
    return "\n\n".join(fenced(cut(text, CONTRACT_LIMIT)) for text in list(systems)[:2])


def _attempt_text(index: int, seen: Seen) -> str:
    task = cut(seen.item.prompt.task, TASK_LIMIT)
    answer = cut(seen.reply.text, ANSWER_LIMIT) or "(empty)"
    lines = [f"### Attempt {index + 1}", f"Task: {task}"]
    if seen.item.prompt.context:
        lines += ["Context:", fenced(cut(seen.item.prompt.context, CONTEXT_LIMIT))]
    lines += ["Answer:", fenced(answer)]
    if seen.reply.tools_called:
        lines.append(f"Tools called: {', '.join(seen.reply.tools_called)}")
    failed = [c for c in seen.judgement.criteria if not c.passed]
    if failed:
        lines.append("Failed:")
        lines += [f"- {c.requirement}" + (f": {c.detail}" if c.detail else "") for c in failed]
    elif seen.judgement.feedback and seen.judgement.hard < 1.0:
        lines.append(f"Judge: {seen.judgement.feedback}")
    else:
        lines.append("All criteria met.")
    return "\n".join(lines)

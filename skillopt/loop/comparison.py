"""The comparison of two documents as an optimizer is shown it at the end of an epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.domain.events import Compared
from skillopt.domain.messages import Message
from skillopt.domain.reports import Pair
from skillopt.domain.run import RunState
from skillopt.domain.skill import SkillDocument
from skillopt.domain.steering_events import Paused
from skillopt.loop.attempt_text import AttemptText, seen, verdict_lines
from skillopt.loop.decision import Decision, waiting
from skillopt.loop.evaluate import Attempt
from skillopt.loop.facts import Facts
from skillopt.loop.jobs import JobFactory
from skillopt.loop.pairs import Arms, arms_on
from skillopt.loop.prompt_parts import fenced, preferences_section, section, system_prompt

#: Characters of all pairs together; beyond that the details of some are left out.
COMPARISON_LIMIT = 160_000
#: Ids of tasks that are only counted.
NAMED_TASKS = 50

#: What matters most comes first; what is left out first comes last.
_IN_FULL = ("regressed", "persistent_fail", "improved")
_IN_WORDS = {
    "regressed": "passed with the previous document, fails with the current one",
    "persistent_fail": "fails with both documents",
    "improved": "failed with the previous document, passes with the current one",
    "stable_success": "passes with both documents",
}


@dataclass(frozen=True)
class Comparison:
    """The pairs of an epoch's end with the texts of their attempts at hand, or what has to
    happen before.
    """

    compared: Compared
    pairs: tuple[Pair, ...] = ()
    text: str = ""
    #: Attempts that are not at hand are rolled out again first.
    before: Decision | None = None


def comparison_of(
    state: RunState, facts: Facts, factory: JobFactory, compared: Compared
) -> Comparison:
    """Put the comparison of an epoch's end into words.

    A task that was left out since then is not shown.
    """
    pairs = tuple(pair for pair in compared.pairs if pair.item not in state.left_out)
    by_id = {item.id: item for item in state.plan.splits.train}
    tasks = [by_id[pair.item] for pair in pairs if pair.change in _IN_FULL]
    label = f"epoch {compared.epoch} / compare"
    documents = (compared.previous, compared.current)
    arms = arms_on(state, facts, factory, documents, tasks, label)
    both = arms.both
    if not both.complete:
        return Comparison(compared, before=waiting(label, both))
    lost = [attempt.item.id for attempt in both.attempts if not attempt.scored]
    if lost:
        detail = f"{label}: the attempts at {', '.join(dict.fromkeys(lost))} are not there any more"
        return Comparison(compared, before=Decision((Paused(why="coverage", detail=detail),)))
    return Comparison(compared, pairs, _text(state, facts, arms, pairs))


def messages_for(
    state: RunState, comparison: Comparison, template: str, more: Sequence[str] = ()
) -> tuple[Message, ...]:
    """Show both documents, the guidance there is and the comparison; `more` are sections."""
    parts = [
        *_documents(state, comparison.compared),
        *preferences_section(state),
        *more,
        section("Comparison", comparison.text),
    ]
    return (
        Message(role="system", content=system_prompt(state.plan, template)),
        Message(role="user", content="\n".join(parts)),
    )


def _documents(state: RunState, compared: Compared) -> list[str]:
    """Show each evolving document before and after; an unchanged one only once."""
    plan = state.plan
    before, after = state.texts[compared.previous], state.texts[compared.current]
    parts = []
    for name in plan.evolving:
        old, new = before.of(name), after.of(name)
        shown = "(the same as the current one)" if old == new else fenced(old)
        parts += [section(f"Previous {name}", shown), section(f"Current {name}", fenced(new))]
    if "skill" not in plan.evolving:
        parts.append(section("Skill (not to be changed)", fenced(after.skill)))
    elif "memory" not in plan.evolving and after.memory:
        parts.append(section("Memory (not to be changed)", fenced(after.memory)))
    guidance = SkillDocument.parse(after.of(plan.primary)).slow_update
    shown = fenced(guidance.strip("\n")) if guidance and guidance.strip() else "(none)"
    parts.append(section("Existing guidance", shown))
    return parts


def _text(state: RunState, facts: Facts, arms: Arms, pairs: Sequence[Pair]) -> str:
    """Tell of each pair, as long as there is room: the least important lose their details."""
    text = AttemptText(state.plan.settings.gradient.trajectory_tokens)
    by_agent = state.plan.backends["target"].agent
    room, parts, attempts = COMPARISON_LIMIT, [], arms.attempts
    for change in _IN_FULL:
        of_kind = [pair.item for pair in pairs if pair.change == change]
        if not of_kind:
            continue
        parts.append(f"### {change}: {_IN_WORDS[change]} ({_tasks(len(of_kind))})")
        left_out = []
        for item in of_kind:
            told = _pair_text(facts, attempts[item], text, by_agent=by_agent)
            if len(told) <= room:
                parts.append(told)
                room -= len(told)
            else:
                left_out.append(item)
        if left_out:
            parts.append(f"Without details, for want of room: {_named(left_out)}")
    stable = [pair.item for pair in pairs if pair.change == "stable_success"]
    if stable:
        title = f"### stable_success: {_IN_WORDS['stable_success']} ({_tasks(len(stable))})"
        parts += [title, _named(stable)]
    return "\n\n".join(parts)


def _pair_text(
    facts: Facts, attempts: tuple[Attempt, Attempt], text: AttemptText, *, by_agent: bool
) -> str:
    both = [seen(facts, attempt, by_agent=by_agent) for attempt in attempts]
    lines = [f"#### Task {both[0].item.id}", *text.question(both[0])]
    shown = dict(zip(("the previous document", "the current document"), both, strict=True))
    if attempts[0].rollout == attempts[1].rollout:
        shown = {"the document, which did not change": both[1]}
    for name, one in shown.items():
        lines += [f"With {name}:", text.answer(one), *verdict_lines(one.judgement, "Failed:")]
    return "\n".join(lines)


def _tasks(n: int) -> str:
    return "1 task" if n == 1 else f"{n} tasks"


def _named(items: Sequence[str]) -> str:
    more = f" and {len(items) - NAMED_TASKS} more" if len(items) > NAMED_TASKS else ""
    return ", ".join(items[:NAMED_TASKS]) + more

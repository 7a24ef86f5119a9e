"""The target model: an answer that obeys exactly the rules its prompt states."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from skillopt.domain.seeds import stream
from skillopt.simulator import filler
from skillopt.simulator.fitting import Fitting
from skillopt.simulator.layout import Layout, lay_out, scrub
from skillopt.simulator.pattern import holds
from skillopt.simulator.rules import (
    AnswerAlone,
    AtLeast,
    AtMost,
    CallTool,
    DoTask,
    Forbidden,
    ForbidTool,
    JsonObject,
    Matches,
    Refuse,
    Required,
    Rule,
    Thorough,
    Whole,
)

REFUSAL = "I'm sorry, but I can't help with that."
_USUAL_SENTENCES = 11
_THOROUGH_SENTENCES = 27
#: Characters of a tool's result that an answer repeats.
_QUOTED_RESULT = 400

R = TypeVar("R")


@dataclass(frozen=True)
class TaskText:
    """What the target knows of its task besides the rules."""

    task: str
    #: The short answer, where the prompt states it.
    known_answer: str | None = None
    tool_results: tuple[tuple[str, str], ...] = ()


def forget_one(rules: Sequence[Rule], task: str, *, seed: int, competence: float) -> list[Rule]:
    """Leave one rule out if this task is beyond the model's competence.

    Whether, and which, depends on the task alone: asking again does not help.
    """
    if not rules or stream(seed, "competence", task).random() < competence:
        return list(rules)
    forgotten = min(rules, key=lambda rule: stream(seed, "forgotten", task, repr(rule)).random())
    return [rule for rule in rules if rule != forgotten]


def miss_one(
    rules: Sequence[Rule],
    recalled: Collection[Rule],
    task: str,
    sample: int,
    *,
    seed: int,
    noise: float,
) -> list[Rule]:
    """Leave one rule out by chance, anew for each sample of a task.

    A rule that the prompt calls to mind (`recalled`) is never the one.
    """
    at_risk = [rule for rule in rules if rule not in recalled]
    if not at_risk or stream(seed, "sample noise", task, sample).random() >= noise:
        return list(rules)
    missed = min(
        at_risk, key=lambda rule: stream(seed, "missed", task, sample, repr(rule)).random()
    )
    return [rule for rule in rules if rule != missed]


def next_tool(rules: Sequence[Rule], called: Sequence[str]) -> str | None:
    """Name the tool that the rules ask for next; a banned tool is never called."""
    banned = {rule.name for rule in rules if isinstance(rule, ForbidTool)}
    for rule in of_kind(rules, CallTool):
        if rule.name not in called and rule.name not in banned:
            return rule.name
    return None


def write_answer(text: TaskText, rules: Sequence[Rule], rng: random.Random) -> str:
    """Write an answer that obeys the rules; where two contradict, a ban and an upper limit win."""
    if of_kind(rules, Refuse) and not of_kind(rules, DoTask):
        return REFUSAL
    banned = tuple(rule.text for rule in of_kind(rules, Forbidden))
    for whole in of_kind(rules, Whole):
        if scrub(whole.text, banned) == whole.text:
            return whole.text
    for wanted in of_kind(rules, JsonObject):
        return scrub(_json(wanted, text, rules, rng), banned)
    layout = lay_out(rules, banned, _result(text), rng)
    answer = _fitted(layout, text, rules, banned, rng)
    for rule in of_kind(rules, Matches):
        if layout.only_alone.get(rule.pattern) and not holds(rule.pattern, answer):
            return layout.only_alone[rule.pattern]
    return answer


def of_kind(rules: Sequence[Rule], kind: type[R]) -> list[R]:
    return [rule for rule in rules if isinstance(rule, kind)]


def _fitted(
    layout: Layout,
    text: TaskText,
    rules: Sequence[Rule],
    banned: tuple[str, ...],
    rng: random.Random,
) -> str:
    prose = (scrub(sentence, banned) for sentence in filler.sentences(text.task, rng))
    if of_kind(rules, AnswerAlone):
        opening, count = [_result(text)], 0
    else:
        opening = [scrub(sentence, banned) for sentence in _facts(text)]
        count = _THOROUGH_SENTENCES if of_kind(rules, Thorough) else _USUAL_SENTENCES
    fitting = Fitting(
        layout=layout,
        body=opening + list(islice(prose, max(0, count - len(opening)))),
        more=prose,
        at_most=of_kind(rules, AtMost),
        at_least=of_kind(rules, AtLeast),
    )
    return fitting.fit()


def _facts(text: TaskText) -> list[str]:
    facts = [
        f"The {name} tool reports {' '.join(result.split())[:_QUOTED_RESULT]}"
        for name, result in text.tool_results
    ]
    if text.known_answer:
        facts.append(f"The answer is {text.known_answer}.")
    return facts


def _result(text: TaskText) -> str:
    return text.known_answer or " ".join(filler.topic_words(text.task)[:3]) or "unknown"


def _json(wanted: JsonObject, text: TaskText, rules: Sequence[Rule], rng: random.Random) -> str:
    prose = filler.sentences(text.task, rng)
    values = {key: next(prose) for key in wanted.keys}
    first = wanted.keys[0]
    required = [rule.text for rule in of_kind(rules, Required)]
    values[first] = " ".join([*required, text.known_answer or values[first]])
    full = json.dumps(values, ensure_ascii=False)
    limits = [rule.number for rule in of_kind(rules, AtMost) if rule.unit == "characters"]
    if limits and len(full) > min(limits):
        short = {key: "" for key in wanted.keys}
        short[first] = " ".join(required)
        return json.dumps(short, ensure_ascii=False)
    return full

"""The judge: which of a rubric's requirements hold for an answer, as far as they can be checked."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from skillopt.domain.item import Check, RuleJudge
from skillopt.domain.results import JudgementBody, ReplyBody
from skillopt.judges import judge
from skillopt.simulator.extraction import extract
from skillopt.simulator.fitting import measure
from skillopt.simulator.prompt_sections import section, unfenced
from skillopt.simulator.prose import sentences
from skillopt.simulator.rules import (
    AtLeast,
    AtMost,
    CallTool,
    DoTask,
    EndsWith,
    Forbidden,
    ForbidTool,
    JsonObject,
    ListOf,
    Matches,
    Required,
    Rule,
    Section,
    StartsWith,
    Tagged,
    Whole,
)
from skillopt.simulator.wordings_of_edits import quoted

#: Texts that a prompt sets apart by a pair of tags with a key of their own.
_BLOCK = re.compile(
    r"^<(?P<name>[a-z]+)-(?P<key>[0-9a-f]{8,64})>\n(?P<text>.*?)\n</(?P=name)-(?P=key)>$",
    re.MULTILINE | re.DOTALL,
)
_OBSERVED = re.compile(r"\bobserved\b[^:\n]*:\s*(\S.*)")
_TOOL_NAME = re.compile(r"\btool\s+[\"“'`]([\w-]{1,64})[\"”'`]")
_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,4}[.)])\s+\S", re.MULTILINE)
#: Nobody goes through more points than this.
_MOST_REQUIREMENTS = 200


@dataclass(frozen=True)
class _Asked:
    """What a prompt gives to judge."""

    rubric: str
    answer: str
    called: tuple[str, ...]


def rubric_verdict(user_text: str) -> dict[str, Any]:
    """Score an answer by the share of the rubric's requirements that it meets, and name the rest.

    A rubric in which nothing can be checked is met.
    """
    asked = _read(user_text)
    if not asked.answer.strip():
        return {"reason": "there is no answer", "score": 0.0}
    reply = ReplyBody(text=asked.answer, tools_called=asked.called)
    verdicts = [_checked(rule, reply) for rule in _rules(asked)]
    known = {words: met for words, met in filter(None, verdicts)}
    missed = [words for words, met in known.items() if not met]
    share = 1 - len(missed) / len(known) if known else 1.0
    reason = "\n".join(["These points are not met:", *(f"- {words}" for words in missed)])
    return {
        "reason": reason if missed else "every point that can be checked is met",
        "score": round(share, 4),
    }


def _read(user_text: str) -> _Asked:
    blocks = {match["name"]: match["text"] for match in _BLOCK.finditer(user_text)}
    around = _BLOCK.sub("", user_text)
    rubric = blocks.get("rubric") or section(user_text, "rubric", "criteria") or user_text
    answer = blocks.get("response")
    if answer is None:
        answer = unfenced(section(user_text, "answer", "response", "reply") or "")
    observed = _OBSERVED.search(section(around, "tools called", "tool calls") or "")
    names = observed.group(1).split(",") if observed else []
    return _Asked(rubric, answer, tuple(name.strip() for name in names))


def _rules(asked: _Asked) -> list[Rule]:
    """Give what a rubric demands; one that only quotes texts demands these."""
    tools = dict.fromkeys([*asked.called, *_TOOL_NAME.findall(asked.rubric)])
    rules: list[Rule] = list(extract(asked.rubric, tuple(tools)))
    if not rules:
        quotations = (q for sentence in sentences(asked.rubric) for q in sentence.quotations)
        rules = [Required(text) for text in dict.fromkeys(q.text for q in quotations)]
    return rules[:_MOST_REQUIREMENTS]


def _checked(rule: Rule, reply: ReplyBody) -> tuple[str, bool] | None:
    """Say in words what a rule requires and whether it holds; None if nobody could tell."""
    check = _as_check(rule)
    if check is None:
        return _looked_at(rule, reply)
    verdict = judge(RuleJudge(checks=(check,)), reply)
    if not isinstance(verdict, JudgementBody):
        return None  # a pattern that does not compile, or does not end
    [criterion] = verdict.criteria
    return criterion.requirement, criterion.passed


def _as_check(rule: Rule) -> Check | None:
    """Give the check of a rule judge that looks for the same."""
    checks: dict[type, tuple[str, str]] = {
        Required: ("contains", "text"),
        Forbidden: ("not_contains", "text"),
        Section: ("section_present", "title"),
        Matches: ("regex", "pattern"),
        CallTool: ("tool_called", "name"),
    }
    if type(rule) in checks:
        op, field = checks[type(rule)]
        return Check(op=op, arg=getattr(rule, field))
    if isinstance(rule, DoTask):
        return Check(op="no_refusal")
    if isinstance(rule, AtMost | AtLeast) and rule.unit == "characters":
        return Check(op="max_chars" if isinstance(rule, AtMost) else "min_chars", arg=rule.number)
    return None


def _looked_at(rule: Rule, reply: ReplyBody) -> tuple[str, bool] | None:
    text = reply.text.strip()
    if isinstance(rule, AtMost):
        return f"the answer has at most {rule.number} {rule.unit}", (
            measure(text, rule.unit) <= rule.number
        )
    if isinstance(rule, AtLeast):
        return f"the answer has at least {rule.number} {rule.unit}", (
            measure(text, rule.unit) >= rule.number
        )
    if isinstance(rule, StartsWith):
        return f"the answer starts with {quoted(rule.text)}", text.startswith(rule.text)
    if isinstance(rule, EndsWith):
        return f"the answer ends with {quoted(rule.text)}", text.endswith(rule.text)
    return _form_looked_at(rule, text, reply.tools_called)


def _form_looked_at(rule: Rule, text: str, called: tuple[str, ...]) -> tuple[str, bool] | None:
    if isinstance(rule, Whole):
        return f"the answer is {quoted(rule.text)} and nothing else", text == rule.text
    if isinstance(rule, Tagged):
        start, end = text.find(f"<{rule.tag}>"), text.find(f"</{rule.tag}>")
        return f"the result stands between <{rule.tag}> and </{rule.tag}>", 0 <= start < end
    if isinstance(rule, ListOf):
        return f"the answer has a list of {rule.count} items", len(_ITEM.findall(text)) >= (
            rule.count
        )
    if isinstance(rule, JsonObject):
        return f"the answer is a JSON object with {', '.join(rule.keys)}", _has_keys(text, rule)
    if isinstance(rule, ForbidTool):
        return f"no call of {quoted(rule.name)} is made", rule.name not in called
    return None


def _has_keys(text: str, wanted: JsonObject) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and all(key in value for key in wanted.keys)

"""One turn of the target: which rules the request states, a tool call or the answer."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any

from skillopt.simulator import filler
from skillopt.simulator.extraction import extract, reminders
from skillopt.simulator.knowledge import short_answer
from skillopt.simulator.options import SimulatorOptions
from skillopt.simulator.request import ChatRequest
from skillopt.simulator.rules import CallTool, Rule
from skillopt.simulator.target import TaskText, forget_one, miss_one, next_tool, write_answer

_MATERIAL = re.compile(
    r"^(?:#+[ \t]*)?(?:context|document|passage|source|material|attachment)s?[ \t]*(?::|$)",
    re.IGNORECASE | re.MULTILINE,
)
#: Rules that a model can mind at once.
_MOST_RULES = 2_000


@dataclass(frozen=True)
class Attempt:
    text: str = ""
    tool: str | None = None
    tool_arguments: str = "{}"


def attempt(request: ChatRequest, options: SimulatorOptions, rng: random.Random) -> Attempt:
    """Take the next turn: a tool that the rules ask for, else the answer."""
    user_texts = request.texts("user")
    first = user_texts[0] if user_texts else ""
    task, material = _split_material(first)
    rules = _rules(request, task)
    rules = forget_one(rules, first, seed=options.seed, competence=options.competence)
    if options.sample_noise > 0:
        recalled = _recalled(request)
        rules = miss_one(
            rules,
            recalled,
            first,
            request.sample,
            seed=options.seed,
            noise=options.sample_noise,
        )
    results = _tool_results(request)
    tool = next_tool(rules, [name for name, _ in results])
    if tool is not None:
        return Attempt(tool=tool, tool_arguments=_arguments(request, tool, task))
    known = short_answer(task, "\n".join([material or task, *(text for _, text in results)]))
    return Attempt(write_answer(TaskText(task, known, tuple(results)), rules, rng))


def _rules(request: ChatRequest, task: str) -> list[Rule]:
    """Collect the rules of the instructions and of the task; given material states none."""
    later = request.texts("user")[1:]
    texts = [*request.texts("system", "developer"), task, *later]
    found: dict[Rule, None] = {}
    for text in texts:
        found.update(dict.fromkeys(extract(text, request.tool_names)))
    rules = list(found)[:_MOST_RULES]
    forced = _forced_tool(request)
    if forced is not None and CallTool(forced) not in rules:
        rules.append(CallTool(forced))
    return rules


def _recalled(request: ChatRequest) -> frozenset[Rule]:
    texts = request.texts("system", "developer")
    return frozenset().union(*(reminders(text, request.tool_names) for text in texts))


def _forced_tool(request: ChatRequest) -> str | None:
    choice = request.body.tool_choice
    if choice == "required" and request.tool_names:
        return request.tool_names[0]
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name")
        return name if name in request.tool_names else None
    return None


def _split_material(text: str) -> tuple[str, str]:
    """Set apart what a task gives as material: all that follows a line like "Context:"."""
    opening = _MATERIAL.search(text)
    if opening is None:
        return text.strip(), ""
    return text[: opening.start()].strip(), text[opening.end() :].strip()


def _tool_results(request: ChatRequest) -> list[tuple[str, str]]:
    names = {
        call.id: call.function.name
        for message in request.body.messages
        for call in message.tool_calls
    }
    return [
        (names[message.tool_call_id], message.text)
        for message in request.body.messages
        if message.role == "tool" and message.tool_call_id in names
    ]


def _arguments(request: ChatRequest, tool: str, task: str) -> str:
    """Fill a tool's required parameters with plain values of their types."""
    offered = next(t.function for t in request.body.tools or () if t.function.name == tool)
    schema = offered.parameters or {}
    properties = schema.get("properties", {})
    names = schema.get("required") or list(properties)
    topic = " ".join(filler.topic_words(task)[:4]) or "task"
    return json.dumps({name: _value(properties.get(name, {}), topic) for name in names})


def _value(schema: dict[str, Any], topic: str) -> object:
    if schema.get("enum"):
        return schema["enum"][0]
    plain: dict[str, object] = {
        "integer": 1,
        "number": 1,
        "boolean": True,
        "array": [],
        "object": {},
    }
    return plain.get(str(schema.get("type")), topic)

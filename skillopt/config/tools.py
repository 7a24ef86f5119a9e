"""The tools of a task: declared in its record, or asked for by its judge."""

from __future__ import annotations

import re
from collections.abc import Callable

from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import Judge, RuleJudge, TaskPrompt, Tool

#: Takes one problem of the task at hand.
Fault = Callable[[str], None]

_TOOL_KEYS = ("name", "description", "parameters", "result")
#: What every provider accepts as the name of a function.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SCHEMA_RULE = 'give {"type": "object", "properties": {…}}, or leave it out'
_NAME_RULE = "use letters, digits, _ and - (at most 64)"


def read_tools(value: object, fault: Fault) -> tuple[Tool, ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        fault(f"tools: {value!r} is not a list; write a list of names or objects")
        return ()
    tools: dict[str, Tool] = {}
    for number, written in enumerate(value, start=1):
        parts = {"name": written} if isinstance(written, str) else written
        tool = _tool(parts, f"tool {number}: ", fault)
        if tool is None:
            continue
        # Checks on calls do not tell upper from lower case, so names must differ in more.
        first = tools.setdefault(tool.name.casefold(), tool)
        if first is not tool:
            fault(f"tool {number}: {tool.name!r} is given twice ({first.name!r}); remove one")
    return tuple(tools.values())


def _tool(parts: object, label: str, fault: Fault) -> Tool | None:
    if not isinstance(parts, dict):
        fault(f"{label}{parts!r} is neither a name nor an object")
        return None
    faults = [
        f"{key} is not a known key; {did_you_mean(key, _TOOL_KEYS, 'keys')}"
        for key in parts
        if key not in _TOOL_KEYS
    ]
    if not isinstance(parts.get("name"), str) or not _NAME.fullmatch(parts["name"]):
        faults.append(f"name is {parts.get('name')!r}; {_NAME_RULE}")
    faults += [
        f"{key}: {parts[key]!r} is not a text; put it in quotes"
        for key in ("description", "result")
        if not isinstance(parts.get(key, ""), str)
    ]
    parameters = parts.get("parameters", {})
    # Providers refuse any other schema, with every call.
    if not isinstance(parameters, dict) or parameters.get("type", "object") != "object":
        faults.append(f"parameters: {parameters!r} is not a schema of an object; {_SCHEMA_RULE}")
    elif parameters and "type" not in parameters:
        faults.append(f"parameters has no 'type'; {_SCHEMA_RULE}")
    for text in faults:
        fault(label + text)
    return None if faults else Tool(**parts)


def with_asked_tools(prompt: TaskPrompt, judge: Judge, fault: Fault) -> TaskPrompt:
    """Offer a tool that a check wants called, as a stub, if the record does not declare it.

    Without it the task could not be passed at all.
    """
    if not isinstance(judge, RuleJudge):
        return prompt
    tools = {tool.name.casefold(): tool for tool in prompt.tools}
    for check in judge.checks:
        name = str(check.arg)
        if check.op != "tool_called" or name.casefold() in tools:
            continue
        if not _NAME.fullmatch(name):
            fault(f"tool_called: {name!r} is not the name of a tool; {_NAME_RULE}")
        else:
            tools[name.casefold()] = Tool(name=name)
    return prompt.model_copy(update={"tools": tuple(tools.values())})

"""A judge as a person writes it, checked part by part."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from skillopt.config.answer_judges import (
    Read,
    Told,
    expected,
    read_answer,
    read_choice,
    read_numeric,
)
from skillopt.config.rubric_judge import read_rubric
from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import OWN_KINDS, AddedJudge, Check, ExactJudge, RuleJudge

_LATER_KINDS = frozenset({"python", "spreadsheet"})
_KEYS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "exact": ("kind", "answer", "substring"),
        "rule": ("kind", "checks"),
        "answer": ("kind", "answers"),
        "numeric": ("kind", "answers", "absolute", "relative", "partial"),
        "choice": ("kind", "answers", "choices"),
        "rubric": ("kind", "rubric", "threshold"),
    }
)


def read_judge(written: object, told: Told | None = None) -> Read:
    """Make a judge of what was written; returns it, or None and everything wrong with it.

    `told` is what the task's record says besides: its expected answers, and its text.
    """
    if not isinstance(written, dict):
        return None, [f"judge: {written!r} is not an object; write {{kind: …}}"]
    kind = written.get("kind")
    # Imported here: the operations of rules bring a regular expression engine with them.
    from skillopt.judges import known_kinds, validate_judge  # noqa: PLC0415

    if not isinstance(kind, str) or kind == "function" or kind not in known_kinds():
        return None, [_wrong_kind(kind)]
    told = told or Told()
    if kind not in OWN_KINDS:
        judge, problems = _read_added(written, told)
        if told.is_default:
            return judge, []  # only its own package knows what each task must add
    else:
        judge, problems = _READERS[kind](written, told.for_kind(kind, written))
        problems = _unknown_keys(written, _KEYS[kind], "judge.") + problems
    if judge is None or problems:
        return None, problems
    found = validate_judge(judge)
    return (None, found) if found else (judge, [])


def _wrong_kind(kind: object) -> str:
    from skillopt.judges import kind_fault, known_kinds  # noqa: PLC0415 - as above

    known = ", ".join(name for name in known_kinds() if name != "function")
    if kind is None:
        return f"judge.kind is missing; known kinds: {known}"
    if kind == "function":
        return (
            "judge kind 'function' cannot be written down: it is a Python function, given to "
            f"producer.optimize(judge=…); known kinds: {known}"
        )
    if isinstance(kind, str) and (fault := kind_fault(kind)) is not None:
        return fault
    if isinstance(kind, str) and kind in _LATER_KINDS:
        return f"judge kind {kind!r} is not part of this version; known kinds: {known}"
    return f"judge kind {kind!r} is not known; known kinds: {known}"


def _unknown_keys(written: dict[str, Any], known: tuple[str, ...], label: str) -> list[str]:
    return [
        f"{label}{key} is not a known key; {did_you_mean(key, known, 'keys')}"
        for key in written
        if key not in known
    ]


def _read_rule(written: Mapping[str, Any], _: Told) -> Read:
    problems: list[str] = []
    checks = written.get("checks")
    if not isinstance(checks, list) or not checks:
        return None, ['judge.checks needs a list like [{"op": "contains", "arg": "…"}]']
    read = []
    for number, check in enumerate(checks, start=1):
        faults = _check_faults(check)
        problems += [f"check {number}: {fault}" for fault in faults]
        if not faults:
            read.append(Check(op=check["op"], arg=check.get("arg")))
    return (None, problems) if problems else (RuleJudge(checks=tuple(read)), [])


def _check_faults(check: object) -> list[str]:
    if not isinstance(check, dict):
        return [f'{check!r} is not an object; write {{"op": …, "arg": …}}']
    faults = _unknown_keys(check, ("op", "arg"), "")
    if not isinstance(check.get("op"), str):
        faults.append(f"op is {check.get('op')!r}; name an operation such as 'contains'")
    arg = check.get("arg")
    if isinstance(arg, bool) or not isinstance(arg, str | int | float | None):
        faults.append(f"arg {arg!r} is neither a text nor a number; put it in quotes")
    return faults


def _read_exact(written: Mapping[str, Any], told: Told) -> Read:
    texts, problems = expected(written, told, key="answer")
    substring = written.get("substring", False)
    if not isinstance(substring, bool):
        problems.append(f"judge.substring: {substring!r} is not true or false")
    if problems:
        return None, problems
    own = written.get("answer", told.answers)
    return ExactJudge(answer=texts if isinstance(own, list) else texts[0], substring=substring), []


def _read_added(written: Mapping[str, Any], told: Told) -> Read:
    """Take a judge of another package's kind as it is, with the task's answers if it has none."""
    given = {"answers": told.answers} if told.answers is not None else {}
    return AddedJudge(**(given | dict(written))), []


_READERS: Mapping[str, Callable[[Mapping[str, Any], Told], Read]] = MappingProxyType(
    {
        "exact": _read_exact,
        "rule": _read_rule,
        "answer": read_answer,
        "numeric": read_numeric,
        "choice": read_choice,
        "rubric": read_rubric,
    }
)

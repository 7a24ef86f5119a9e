"""A judge as a person writes it, checked part by part."""

from __future__ import annotations

from typing import Any

from skillopt.config.suggest import did_you_mean
from skillopt.domain.item import Check, ExactJudge, Judge, RuleJudge

KINDS = ("exact", "rule")
_LATER_KINDS = frozenset({"answer", "numeric", "python", "rubric", "spreadsheet"})


def read_judge(written: object, answers: object = None) -> tuple[Judge | None, list[str]]:
    """Make a judge of what was written; returns it, or None and everything wrong with it.

    `answers` are a task's own expected answers, for an exact judge that names none.
    """
    if not isinstance(written, dict):
        return None, [f"judge: {written!r} is not an object; write {{kind: …}}"]
    kind = written.get("kind")
    if kind == "rule":
        judge, problems = _read_rule(written)
    elif kind == "exact":
        judge, problems = _read_exact(written, answers)
    else:
        return None, [_wrong_kind(kind)]
    if judge is None:
        return None, problems
    # Imported here: the operations of rules bring a regular expression engine with them.
    from skillopt.judges import validate_judge  # noqa: PLC0415

    found = validate_judge(judge)
    return (None, found) if found else (judge, [])


def _wrong_kind(kind: object) -> str:
    known = ", ".join(KINDS)
    if kind is None:
        return f"judge.kind is missing; known kinds: {known}"
    if kind == "function":
        return (
            "judge kind 'function' cannot be written down: it is a Python function, given to "
            f"producer.optimize(judge=…); known kinds: {known}"
        )
    if isinstance(kind, str) and kind in _LATER_KINDS:
        return f"judge kind {kind!r} is not part of this version; known kinds: {known}"
    return f"judge kind {kind!r} is not known; known kinds: {known}"


def _unknown_keys(written: dict[str, Any], known: tuple[str, ...], label: str) -> list[str]:
    return [
        f"{label}{key} is not a known key; {did_you_mean(key, known, 'keys')}"
        for key in written
        if key not in known
    ]


def _read_rule(written: dict[str, Any]) -> tuple[Judge | None, list[str]]:
    problems = _unknown_keys(written, ("kind", "checks"), "judge.")
    checks = written.get("checks")
    if not isinstance(checks, list) or not checks:
        return None, [*problems, 'judge.checks needs a list like [{"op": "contains", "arg": "…"}]']
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


def _read_exact(written: dict[str, Any], answers: object) -> tuple[Judge | None, list[str]]:
    problems = _unknown_keys(written, ("kind", "answer", "substring"), "judge.")
    substring = written.get("substring", False)
    if not isinstance(substring, bool):
        problems.append(f"judge.substring: {substring!r} is not true or false")
    expected = written.get("answer", answers)
    if expected is None:
        problems.append("judge.answer is missing; give the expected answer")
        return None, problems
    listed = expected if isinstance(expected, list) else [expected]
    for answer in listed:
        if isinstance(answer, bool) or not isinstance(answer, str | int):
            problems.append(f"judge.answer: {answer!r} is not a text; put it in quotes")
    if problems:
        return None, problems
    texts = tuple(str(answer) for answer in listed)
    answer_value = texts if isinstance(expected, list) else texts[0]
    return ExactJudge(answer=answer_value, substring=substring), []

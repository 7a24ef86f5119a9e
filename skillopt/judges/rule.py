"""The rule judge: a list of checks, each of which holds or does not."""

from __future__ import annotations

from difflib import get_close_matches

from skillopt.domain.item import Check, RuleJudge
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.operations import OPERATIONS, REGEX_TIMEOUT_S, Finding
from skillopt.judges.scorer import missing_answer, verdict


class RuleScorer:
    version = 2

    def problems(self, judge: RuleJudge) -> list[str]:
        return [
            f"check {number}: {problem}"
            for number, check in enumerate(judge.checks, start=1)
            if (problem := _problem(check)) is not None
        ]

    def score(self, judge: RuleJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        missing = missing_answer(reply)
        criteria: list[CriterionResult] = []
        for check in judge.checks:
            try:
                criteria.append(_criterion(check, reply, missing))
            except (TimeoutError, MemoryError):
                return InvalidBody(
                    reason=f"the check {_name(check)!r} did not finish within "
                    f"{REGEX_TIMEOUT_S:g} s and the memory it may take; simplify its pattern"
                )
        return verdict(criteria, lead=_because(missing))


def _because(missing: str | None) -> str:
    return f"{missing}, so no criterion holds" if missing else ""


def _criterion(check: Check, reply: ReplyBody, missing: str | None) -> CriterionResult:
    operation = OPERATIONS[check.op]
    argument = operation.argument.read(check.arg)
    requirement = operation.requirement.format(argument)
    finding = Finding(False, missing) if missing else operation.find(argument, reply)
    return CriterionResult(
        name=_name(check), requirement=requirement, passed=finding.passed, detail=finding.detail
    )


def _name(check: Check) -> str:
    argument = OPERATIONS[check.op].argument.read(check.arg)
    return f"{check.op}={argument}" if argument else check.op


def _problem(check: Check) -> str | None:
    operation = OPERATIONS.get(check.op)
    if operation is None:
        near = get_close_matches(check.op.casefold(), OPERATIONS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else "known are " + ", ".join(OPERATIONS)
        return f"unknown operation {check.op!r}; {hint}"
    problem = operation.argument.problem(check.arg)
    return None if problem is None else f"{check.op} {problem}"

"""The choice judge: the final answer chooses the right one of several options, and only it."""

from __future__ import annotations

from skillopt.domain.item import ChoiceJudge
from skillopt.domain.results import CriterionResult, InvalidBody, JudgementBody, ReplyBody
from skillopt.judges.chosen import options
from skillopt.judges.final_answer import final_answer, shown
from skillopt.judges.scorer import blank_answers, missing_answer, verdict

MAX_LABEL_CHARS = 20


class ChoiceScorer:
    version = 1

    def problems(self, judge: ChoiceJudge) -> list[str]:
        labels = list(judge.choices)
        problems = blank_answers("choice", judge.answers)
        if len(labels) < 2:
            problems.append(f"choice needs at least two options, not {labels!r}; list them all")
        problems += [
            f"choice label {label!r} is not usable; give at most {MAX_LABEL_CHARS} letters or "
            "digits without white space"
            for label in labels
            if not label.isalnum() or len(label) > MAX_LABEL_CHARS
        ]
        folded = [label.casefold() for label in labels]
        problems += [
            f"choice label {label!r} is given twice, upper and lower case being the same; rename it"
            for number, label in enumerate(labels)
            if label.casefold() in folded[:number]
        ]
        problems += [
            f"choice answer {answer!r} is none of the labels {', '.join(labels)}; give one of them"
            for answer in judge.answers
            if answer.strip() and answer not in judge.choices
        ]
        return problems

    def score(self, judge: ChoiceJudge, reply: ReplyBody) -> JudgementBody | InvalidBody:
        missing = missing_answer(reply)
        found = options(tuple(judge.choices.items())).chosen(reply.text)
        chosen = [label for label in judge.choices if label in found and not missing]
        right = len(chosen) == 1 and chosen[0] in judge.answers
        criteria = [
            CriterionResult(
                name="choice",
                requirement="the last line is the label of one option and nothing else, or "
                "<answer>…</answer> holds it",
                passed=len(chosen) == 1,
                detail=missing or f"{_seen(chosen)} in {shown(final_answer(reply.text))}",
            ),
            CriterionResult(
                name=f"choice={' | '.join(judge.answers)}",
                requirement="the chosen option is the right one",
                passed=right,
                detail=missing or f"{_seen(chosen)}; right is {_right(judge)}",
            ),
        ]
        return verdict(criteria, lead=missing or "", soft=float(right))


def _seen(chosen: list[str]) -> str:
    if not chosen:
        return "no option is chosen"
    return f"chosen is {' and '.join(chosen)}"


def _right(judge: ChoiceJudge) -> str:
    return " or ".join(
        f"{label} ({shown(judge.choices[label])})" if judge.choices[label] else label
        for label in judge.answers
    )

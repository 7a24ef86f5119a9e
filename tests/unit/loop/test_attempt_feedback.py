"""What a judge says reaches the analyst word for word, and only once."""

from __future__ import annotations

from skillopt.domain.item import AnswerJudge, NumericJudge
from skillopt.domain.results import CriterionResult, JudgementBody, ReplyBody
from skillopt.judges import judge
from skillopt.loop.attempt_text import verdict_lines


def failed(feedback: str, *criteria: CriterionResult) -> list[str]:
    return verdict_lines(
        JudgementBody(hard=0, soft=0, criteria=criteria, feedback=feedback), "Failed:"
    )


def test_feedback_is_shown_beside_the_criteria_that_failed():
    criterion = CriterionResult(
        name="a", requirement="it rhymes", passed=False, detail="it is flat"
    )
    lines = failed("Line 2 limps.\nTry iambs.", criterion)
    assert lines[:3] == ["Failed:", "- it rhymes: it is flat", "Judge:"]
    assert "Line 2 limps.\nTry iambs." in lines[3]


def test_feedback_alone_is_shown_and_silence_is_told():
    assert "Line 2 limps." in failed("Line 2 limps.")[1]
    assert failed("") == ["It failed; the judge does not say why."]


def test_criteria_that_the_feedback_repeats_are_shown_once():
    for described in (AnswerJudge(answers=("Paris",)), NumericJudge(answers=("5",))):
        body = judge(described, ReplyBody(text="Rome\nor else"))
        assert isinstance(body, JudgementBody)
        assert body.remarks == ""
        lines = verdict_lines(body, "Failed:")
        assert lines[0] == "Failed:"
        assert all(line.startswith("- ") for line in lines[1:])


def test_why_there_is_no_answer_is_shown():
    body = judge(AnswerJudge(answers=("Paris",)), ReplyBody(text=""))
    assert isinstance(body, JudgementBody)
    assert body.remarks == "the answer is empty"
    assert "the answer is empty" in verdict_lines(body, "Failed:")[-1]

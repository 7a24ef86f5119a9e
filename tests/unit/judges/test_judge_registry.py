from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from skillopt.config.answer_judges import Told
from skillopt.config.judge_input import read_judge
from skillopt.domain.item import OWN_KINDS, AddedJudge, Judge
from skillopt.domain.results import InvalidBody, JudgementBody, ReplyBody
from skillopt.errors import JudgeFailed
from skillopt.judges import judge, judge_versions, kind_fault, known_kinds, registry, validate_judge


class LengthScorer:
    """A kind as another package would add it."""

    version = 7

    def problems(self, judge: AddedJudge) -> list[str]:
        return [] if isinstance(judge.fields.get("most"), int) else ["length needs 'most'"]

    def score(self, judge: AddedJudge, reply: ReplyBody) -> JudgementBody:
        if reply.text == "raise":
            raise ZeroDivisionError("no good")
        if reply.text == "nonsense":
            return 1.0  # type: ignore[return-value]
        passed = len(reply.text) <= judge.fields["most"]
        return JudgementBody(hard=passed, soft=passed, feedback="" if passed else "too long")


class RaisingScorer(LengthScorer):
    def problems(self, judge: AddedJudge) -> list[str]:
        raise KeyError("most")


class VersionlessScorer(LengthScorer):
    version = None


class NoScorer:
    version = 1


@pytest.fixture
def installed(monkeypatch):
    """Pretend that packages with these entry points are installed."""

    def install(**entries: str) -> None:
        points = [EntryPoint(name, value, registry.GROUP) for name, value in entries.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: points)
        registry._kinds.cache_clear()

    yield install
    registry._kinds.cache_clear()


def test_the_project_file_names_every_kind_of_this_package():
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    named = tomllib.loads(text)["project"]["entry-points"][registry.GROUP]
    assert set(named) == set(OWN_KINDS)
    own = {**registry._OWN, **registry._ASKING}
    for kind, value in named.items():
        assert type(own[kind]) is EntryPoint(kind, value, registry.GROUP).load()


def test_kinds_of_this_package_need_no_installation_and_cannot_be_replaced(installed):
    installed()
    assert known_kinds() == OWN_KINDS
    installed(exact=f"{__name__}:LengthScorer", rubric=f"{__name__}:LengthScorer")
    assert judge_versions()["exact"] == 1
    assert judge_versions()["rubric"] == 1


def test_another_package_adds_a_kind_with_its_version(installed):
    installed(length=f"{__name__}:LengthScorer")
    assert judge_versions()["length"] == 7
    read, problems = read_judge({"kind": "length", "most": 3}, Told(answers=["a"]))
    assert problems == []
    assert read == AddedJudge(kind="length", most=3, answers=["a"])
    stored = TypeAdapter(Judge).validate_json(read.model_dump_json())
    assert judge(stored, ReplyBody(text="abc")).hard == 1.0
    assert judge(stored, ReplyBody(text="abcd")).feedback == "too long"


def test_an_added_judge_with_problems_is_refused_and_never_scored(installed):
    installed(length=f"{__name__}:LengthScorer")
    assert read_judge({"kind": "length"}) == (None, ["length needs 'most'"])
    assert isinstance(judge(AddedJudge(kind="length"), ReplyBody(text="x")), InvalidBody)


def test_a_default_judge_of_an_added_kind_is_checked_with_each_task(installed):
    installed(length=f"{__name__}:LengthScorer")
    assert read_judge({"kind": "length"}, Told(is_default=True))[1] == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise", "judge kind 'length' failed: ZeroDivisionError: no good"),
        ("nonsense", "judge kind 'length' returned float, not a JudgementBody"),
    ],
)
def test_an_added_judge_that_fails_gives_no_score(installed, text, message):
    installed(length=f"{__name__}:LengthScorer")
    with pytest.raises(JudgeFailed, match=message):
        judge(AddedJudge(kind="length", most=3), ReplyBody(text=text))


def test_an_added_judge_that_fails_when_checked_has_a_problem(installed):
    installed(length=f"{__name__}:RaisingScorer")
    [problem] = validate_judge(AddedJudge(kind="length"))
    assert problem == "judge kind 'length' cannot be checked: KeyError: 'most'"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no_such_module:Scorer", "cannot be loaded: ModuleNotFoundError"),
        (f"{__name__}:Missing", "cannot be loaded: AttributeError"),
        (f"{__name__}:VersionlessScorer", "has version None; it needs a whole number from 1"),
        (f"{__name__}:NoScorer", "has no method 'problems'; it is no Scorer"),
    ],
)
def test_a_broken_package_harms_only_its_own_kind_and_is_named(installed, value, words):
    installed(length=value)
    assert known_kinds() == OWN_KINDS
    assert words in (kind_fault("length") or "")
    assert read_judge({"kind": "length"}) == (None, [kind_fault("length")])
    assert isinstance(judge(AddedJudge(kind="length"), ReplyBody(text="x")), InvalidBody)


def test_two_packages_with_one_kind_are_refused(monkeypatch):
    points = [
        EntryPoint("length", f"{__name__}:{name}", registry.GROUP)
        for name in ("LengthScorer", "RaisingScorer", "NoScorer")
    ]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    registry._kinds.cache_clear()
    try:
        assert "length" not in known_kinds()
        assert "is added by another package too" in (kind_fault("length") or "")
    finally:
        registry._kinds.cache_clear()


def test_a_kind_that_nobody_adds_is_no_zero():
    body = judge(AddedJudge(kind="nowhere"), ReplyBody(text="x"))
    assert isinstance(body, InvalidBody)
    assert "'nowhere' is not known here" in body.reason

"""Tasks that a model judges, as people write them down, and the plan that comes of them."""

from __future__ import annotations

import pytest
from config_workspace import record

from skillopt.config.given import GivenRun, load_given
from skillopt.config.lint import lint
from skillopt.config.load import load_eval_plan
from skillopt.domain.expected_answers import expected_answers
from skillopt.domain.item import Item, RubricJudge, Splits, TaskPrompt
from skillopt.loop.templates import packaged

DEFAULT = 'judge: {kind: rubric, rubric: "It is kind.", threshold: 0.6}'


def loaded(workspace, *records: dict[str, object], more: str = ""):
    rows = [{"task_id": f"r-{n}", "task": f"Question {n}?"} | one for n, one in enumerate(records)]
    workspace.write_records("tasks.jsonl", [*rows, *(record(n) for n in range(12))])
    workspace.spec(more)
    return workspace.load()


def judges(workspace, *records: dict[str, object], more: str = "") -> list[object]:
    splits = loaded(workspace, *records, more=more).plan.splits
    items = {item.id: item for name in ("train", "val", "test") for item in splits.of(name)}
    return [items[f"r-{n}"].judge for n, _ in enumerate(records)]


def test_a_judge_of_the_record_is_read_with_its_threshold(workspace):
    written = {"kind": "rubric", "rubric": "Good.", "threshold": 0.5}
    assert judges(workspace, {"judge": written}) == [RubricJudge(rubric="Good.", threshold=0.5)]
    del written["threshold"]
    assert judges(workspace, {"judge": written}) == [RubricJudge(rubric="Good.", threshold=0.8)]


def test_a_rubric_alone_says_that_a_model_judges(workspace):
    assert judges(workspace, {"rubric": "Good."}) == [RubricJudge(rubric="Good.")]


def test_a_tasks_own_rubric_goes_before_the_default_one(workspace):
    found = judges(workspace, {}, {"rubric": "Short."}, more=DEFAULT)
    assert found == [
        RubricJudge(rubric="It is kind.", threshold=0.6),
        RubricJudge(rubric="Short.", threshold=0.6),
    ]


def test_a_default_may_leave_the_rubric_to_the_tasks(workspace, faults):
    more = "judge: {kind: rubric, threshold: 1}"
    assert judges(workspace, {"rubric": "A."}, more=more) == [RubricJudge(rubric="A.", threshold=1)]
    workspace.write_records("tasks.jsonl", [{"id": "bare", "task": "x"}])
    assert any("task 'bare': judge.rubric is missing; say what a good" in line for line in faults())


def test_a_mapped_column_is_the_rubric(workspace):
    more = "fields: {rubric: grading}"
    assert judges(workspace, {"grading": "Good."}, more=more) == [RubricJudge(rubric="Good.")]


def test_a_rubric_that_no_judge_reads_is_told_as_unused(workspace):
    found = loaded(workspace, {"rubric": "Good.", "judge": {"kind": "exact", "answer": "a"}})
    assert any("'rubric'" in warning and "not used" in warning for warning in found.warnings)
    assert "judge" not in found.plan.backends


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"judge": {"kind": "rubric"}}, "judge.rubric is missing; say what a good answer does"),
        ({"judge": {"kind": "rubric", "rubric": 5}}, "judge.rubric: 5 is not a text"),
        ({"judge": {"kind": "rubric", "rubric": " "}}, "rubric is blank (' ')"),
        ({"rubric": ["a"]}, "judge.rubric: ['a'] is not a text; put it in quotes"),
        ({"judge": {"kind": "rubric", "rubric": "a", "threshold": 0}}, "judge.threshold: 0 is not"),
        ({"judge": {"kind": "rubric", "rubric": "a", "threshold": 80}}, "a number above 0 and up"),
        ({"judge": {"kind": "rubric", "rubric": "a", "threshold": "high"}}, "write it like 0.8"),
        ({"judge": {"kind": "rubric", "rubric": "a", "threshold": True}}, "judge.threshold: True"),
        ({"judge": {"kind": "rubric", "rubric": "a", "answers": []}}, "judge.answers is not a kn"),
        ({"judge": {"kind": "rubric", "rubric": "a"}, "rubric": "b"}, "differs from the record's"),
        ({"rubric": "a", "answers": ["b"]}, "has 'answers' and 'rubric' but no judge"),
    ],
)
def test_what_is_wrong_with_a_rubric_is_named(workspace, faults, bad, message):
    workspace.write_records("tasks.jsonl", [{"id": "a", "task": "x"} | bad])
    assert any("task 'a': " in line and message in line for line in faults())


def test_a_wrong_default_is_told_once_and_where_it_stands(workspace, faults):
    workspace.spec("judge: {kind: rubric, threshold: 2}")
    [line] = [line for line in faults() if "threshold" in line and "spec.yaml" in line]
    assert "judge.threshold: 2 is not a number above 0 and up to 1" in line


# --- the plan -----------------------------------------------------------------------------------


def test_the_judges_backend_is_in_the_plan_only_if_a_task_asks_it(workspace):
    assert set(loaded(workspace).plan.backends) == {"target", "optimizer"}
    plan = loaded(workspace, {"rubric": "Good."}).plan
    assert plan.backends["judge"].backend == plan.backends["target"].backend
    assert plan.judge_versions["rubric"] == 1
    assert plan.templates["rubric"] == packaged()["rubric"]


def test_a_measurement_has_the_judges_template_only_if_it_is_used(workspace):
    rows = [{"task_id": "r", "task": "q", "rubric": "Good."}]
    workspace.write_records("tasks/test.jsonl", rows)
    for split in ("train", "val"):
        workspace.write_records(f"tasks/{split}.jsonl", [record(ord(split[0]))])
    spec = workspace.spec("", tasks="tasks")

    def measured(split):
        return load_eval_plan(
            spec, split=split, environ={}, publish_revision=lambda backend: "published-1"
        ).plan

    assert set(measured("test").templates) == {"attempt", "rubric"}
    assert set(measured("test").backends) == {"target", "judge"}
    assert set(measured("val").templates) == {"attempt"}
    assert set(measured("val").backends) == {"target"}


def test_judges_that_ask_a_model_are_not_tried_out(monkeypatch):
    monkeypatch.setattr("skillopt.config.lint.judge", lambda *_: pytest.fail("it was judged"))
    rubric = RubricJudge(rubric="Good.")
    item = Item(id="a", prompt=TaskPrompt(task="Write."), judge=rubric)
    assert lint(Splits(train=(item,))) == []
    assert expected_answers(rubric) == ()
    assert (
        item.content_hash
        != item.model_copy(
            update={"judge": rubric.model_copy(update={"threshold": 0.5})}
        ).content_hash
    )


def test_a_program_gives_rubrics_in_the_same_way():
    given = GivenRun(
        skill="# Notes\n\nBe brief.\n",
        model={"target": "sim", "judge": "critic"},
        train=[{"id": "a", "task": "Write."}],
        val=[{"id": "b", "task": "Draw.", "rubric": "It is short."}],
        judge={"kind": "rubric", "rubric": "It is kind.", "threshold": 0.5},
        backends={"sim": {"kind": "simulated"}, "critic": {"kind": "simulated"}},
    )
    plan = load_given(given, environ={}, publish_revision=lambda backend: "published-1").plan
    assert plan.splits.train[0].judge == RubricJudge(rubric="It is kind.", threshold=0.5)
    assert plan.splits.val[0].judge == RubricJudge(rubric="It is short.", threshold=0.5)
    assert plan.backends["judge"].backend == "critic"

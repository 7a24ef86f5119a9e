from __future__ import annotations

import json

from config_workspace import RULE, ids, record, sizes

from skillopt.domain.item import ExactJudge

CSV_JUDGE = json.dumps(RULE).replace('"', '""')


def test_a_benchmark_folder_gives_train_val_and_held_out_test(workspace):
    workspace.write_records("bench/benchmark.jsonl", [record(n) for n in range(9)])
    workspace.write_records("bench/held-out.jsonl", [record(n) for n in range(20, 24)])
    workspace.spec("", tasks="bench")
    loaded = workspace.load()
    assert sizes(loaded) == (6, 3, 4)
    assert sorted(ids(loaded.plan.splits.test)) == ["t-20", "t-21", "t-22", "t-23"]


def test_one_file_is_divided_in_three(workspace):
    assert sizes(workspace.load()) == (6, 3, 3)
    workspace.spec("split: {ratio: 4:1:1}\n")
    assert sizes(workspace.load()) == (8, 2, 2)


def test_a_split_folder_may_hold_folders_or_files_of_any_format(workspace):
    workspace.write_records("s/train/a.jsonl", [record(1), record(2)])
    workspace.write("s/train/b.json", json.dumps([record(3)], indent=2))
    workspace.write("s/train/notes.txt", "not tasks")
    workspace.write("s/val.csv", f'id,task,judge\nv-1,Add page v.,"{CSV_JUDGE}"\n')
    workspace.write("s/test.json", json.dumps([record(9)]))
    workspace.spec("", tasks="s")
    loaded = workspace.load()
    assert sizes(loaded) == (3, 1, 1)
    assert loaded.plan.splits.val[0].judge == loaded.plan.splits.test[0].judge


def test_records_may_name_their_split(workspace):
    names = ["train", "train", "val", "test"]
    workspace.write_records("tasks.jsonl", [record(n, split=s) for n, s in enumerate(names)])
    workspace.spec("split: {ratio: '1:1:1'}\n")
    loaded = workspace.load()
    assert sizes(loaded) == (2, 1, 1)
    assert ids(loaded.plan.splits.val) == ["t-2"]
    assert "split.ratio is not used" in loaded.warnings[0]


def test_all_formats_give_the_same_tasks(workspace):
    records = [record(n, tags=["a", "b"]) for n in range(12)]
    rows = "".join(f'{r["task_id"]},{r["task"]},"{CSV_JUDGE}","a, b"\n' for r in records)
    plans = []
    for name, text in (
        ("t.jsonl", "\n".join(json.dumps(r) for r in records)),
        ("t.json", json.dumps(records)),
        ("t.csv", "task_id,task,judge,tags\n" + rows),
    ):
        workspace.write(name, text)
        workspace.spec("", tasks=name)
        plans.append(workspace.load().plan.identity)
    assert len(set(plans)) == 1


def test_byte_order_marks_windows_lines_and_blank_lines_are_tolerated(workspace):
    plain = workspace.load().plan.identity
    text = "\r\n\r\n".join(json.dumps(record(n)) for n in range(12))
    workspace.write("tasks.jsonl", b"\xef\xbb\xbf" + text.encode())
    assert workspace.load().plan.identity == plain


def test_a_file_of_one_record_is_one_task(workspace):
    for number, split in enumerate(("train", "val", "test")):
        workspace.write_records(f"one/{split}.jsonl", [record(number)])
    workspace.spec("", tasks="one")
    assert sizes(workspace.load()) == (1, 1, 1)


def test_all_fields_of_a_record_are_read(workspace):
    workspace.write_records(
        "tasks.jsonl",
        [
            {
                "id": 7, "intent": "Do it.", "context": "ctx", "system": "sys", "tags": ["x"],
                "tools": ["search", {"name": "add", "description": "d", "result": "5"}],
                "judge": {"kind": "exact", "answer": ["a", "b"], "substring": True},
                "split": "train",
            },
            record(1, split="val"),
        ],
    )  # fmt: skip
    workspace.spec("evaluation: {eval_test: false}\n")
    item = workspace.load().plan.splits.train[0]
    assert item.id == "7"
    assert (item.prompt.task, item.prompt.context, item.prompt.system) == ("Do it.", "ctx", "sys")
    assert [(tool.name, tool.result) for tool in item.prompt.tools] == [
        ("search", ""),
        ("add", "5"),
    ]
    assert item.judge == ExactJudge(answer=("a", "b"), substring=True)
    assert item.tags == ("x",)


def test_columns_are_mapped_and_a_default_judge_takes_each_tasks_answer(workspace):
    rows = "".join(f"{n},What is {n}?,{n},misc\n" for n in range(12))
    workspace.write("qa.csv", "nr,question,answer,topic\n" + rows)
    workspace.spec(
        "fields: {id: nr, task: question, answers: answer}\n"
        "judge: {kind: exact, substring: true}\n",
        tasks="qa.csv",
    )
    loaded = workspace.load()
    by_id = {item.id: item for item in loaded.plan.splits.train}
    some = next(iter(by_id))
    assert by_id[some].prompt.task == f"What is {some}?"
    assert by_id[some].judge == ExactJudge(answer=some, substring=True)
    assert loaded.plan.judge_versions.keys() == {"exact"}
    [warning] = [line for line in loaded.warnings if line not in loaded.lint]
    assert "the field 'topic' is not used" in warning


def test_answers_alone_mean_an_exact_judge(workspace):
    workspace.write_records(
        "tasks.jsonl", [{"id": n, "task": f"Page {n}?", "answer": n} for n in range(4)]
    )
    assert workspace.load().plan.splits.train[0].judge.kind == "exact"


def test_a_spec_level_judge_serves_tasks_without_one(workspace):
    records = [record(n) for n in range(12)]
    for entry in records[:6]:
        del entry["judge"]
    workspace.write_records("tasks.jsonl", records)
    workspace.spec("judge: {kind: rule, checks: [{op: no_refusal}]}\n")
    splits = workspace.load().plan.splits
    ops = {i.judge.checks[0].op for i in (*splits.train, *splits.val, *splits.test)}
    assert ops == {"no_refusal", "contains"}

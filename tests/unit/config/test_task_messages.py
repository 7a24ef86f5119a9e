from __future__ import annotations

import pytest
from config_workspace import RULE, record

from skillopt.config.spellings import unknown_split
from skillopt.errors import TaskError

BAD_RECORDS = [
    ({"task": "x", "judge": RULE}, "the record has no 'task_id' (or 'id'); give each task"),
    ({"id": "", "task": "x", "judge": RULE}, "the record has no 'task_id'"),
    ({"id": ["a"], "task": "x", "judge": RULE}, "task_id ['a'] is not usable; give a printable"),
    ({"id": "a", "judge": RULE}, "task 'a': has no 'task' (or 'intent'); say what is to be done"),
    ({"id": "a", "task": 5, "judge": RULE}, "task 'a': task: 5 is not a text; put it in quotes"),
    ({"id": "a", "task": "x"}, "task 'a': has no judge; add 'judge' to the record, or a default"),
    ({"id": "a", "task_id": "b", "task": "x", "judge": RULE}, "another name of 'id' differ"),
    ({"id": "a", "task": "x", "judge": RULE, "contxt": "c"}, "did you mean 'context'?"),
    (
        {"id": "a", "task": "x", "judge": RULE, "attachments": ["f.pdf"]},
        "task 'a': attachments[0]: 'f.pdf' does not exist in",
    ),
    (
        {"id": "a", "task": "x", "judge": RULE, "split": "valid_seen"},
        "task 'a': the split 'valid_seen' is called 'val' here",
    ),
    (
        {"id": "a", "task": "x", "judge": RULE, "split": "Test"},
        "task 'a': the split 'Test' is called 'test' here",
    ),
    (
        {"id": "a", "task": "x", "judge": RULE, "split": "extra"},
        "task 'a': the split 'extra' is not known; give train, val or test",
    ),
    ({"id": "a", "task": "x", "judge": RULE, "tags": "t"}, "task 'a': tags: 't' is not a list of"),
    ({"id": "a", "task": "x", "judge": RULE, "tools": "t"}, "task 'a': tools: 't' is not a list"),
    ({"id": "a", "task": "x", "judge": RULE, "tools": ["t", "t"]}, "tool 2: 't' is given twice"),
    ({"id": "a", "task": "x", "judge": RULE, "tools": [{"nam": "t"}]}, "did you mean 'name'?"),
    ({"id": "a", "task": "x", "judge": RULE, "tools": [3]}, "tool 1: 3 is neither a name nor an"),
    ({"id": "a", "task": "x", "judge": "rule"}, "task 'a': judge: 'rule' is not an object"),
    ({"id": "a", "task": "x", "judge": {}}, "judge.kind is missing; known kinds: exact, rule"),
    (
        {"id": "a", "task": "x", "judge": {"kind": "spreadsheet", "file": "r"}},
        "task 'a': judge kind 'spreadsheet' is not part of this version; known kinds: exact, rule",
    ),
    (
        {"id": "a", "task": "x", "judge": {"kind": "ruel"}},
        "task 'a': judge kind 'ruel' is not known; known kinds: exact, rule",
    ),
    (
        {"id": "a", "task": "x", "judge": {"kind": "rule", "checks": []}},
        "judge.checks needs a list",
    ),
    ({"id": "a", "task": "x", "judge": {"kind": "exact"}}, "judge.answer is missing; give the"),
    ({"id": "a", "task": "x", "judge": {"kind": "exact", "answer": 1.5}}, "1.5 is not a text; put"),
    (
        {"id": "a", "task": "x", "judge": {"kind": "exact", "answers": "1"}},
        "judge.answers is not a known key; did you mean 'answer'?",
    ),
    (
        {
            "id": "a",
            "task": "x",
            "judge": {"kind": "rule", "checks": [*RULE["checks"], {"op": "contians", "arg": "x"}]},
        },
        "task 'a': check 2: unknown operation 'contians'; did you mean 'contains'?",
    ),
    (
        {
            "id": "a",
            "task": "x",
            "judge": {"kind": "rule", "checks": [{"op": "regex", "arg": "("}]},
        },
        "task 'a': check 1: regex cannot use '('",
    ),
    (
        {
            "id": "a",
            "task": "x",
            "judge": {"kind": "rule", "checks": [{"op": "contains", "arg": []}]},
        },
        "task 'a': check 1: arg [] is neither a text nor a number",
    ),
    (
        {"id": "a", "task": "x", "judge": {"kind": "rule", "checks": [{"opp": "contains"}]}},
        "task 'a': check 1: opp is not a known key; did you mean 'op'?",
    ),
]


@pytest.mark.parametrize(("bad", "message"), BAD_RECORDS)
def test_a_bad_record_names_file_line_task_and_fix(workspace, faults, bad, message):
    workspace.write_records("tasks.jsonl", [*(record(n) for n in range(12)), bad])
    text = "\n".join(faults())
    assert "tasks.jsonl:13: " in text
    assert message in text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.jsonl", '{"id": 1}\n{"id": \n', "t.jsonl:2: not valid JSON at column 8"),
        (
            "t.jsonl",
            "[1, 2]\n",
            "t.jsonl:1: holds one JSON list; name the file .json, or write one",
        ),
        ("t.jsonl", "7\n", "t.jsonl:1: 7 is not a task record; write a JSON object"),
        ("t.jsonl", '{"id": NaN}\n', "t.jsonl:1: not valid JSON: NaN is not a JSON number"),
        (
            "t.jsonl",
            '{"id": 1, "id": 2}\n',
            "t.jsonl:1: not valid JSON: the key 'id' is given twice",
        ),
        ("t.jsonl", b'{"id": 1}\n\xff\n', "t.jsonl:2: byte 0xff is not UTF-8; save the file"),
        ("t.jsonl", "\n \n", "t.jsonl: is empty; write one task record per line"),
        ("t.json", '{"id": 1}', "t.json:1: is not a list of task records; write [ … ] around them"),
        ("t.json", "[]", "t.json: holds no task record; add at least one"),
        (
            "t.json",
            '[\n{"id": 1}\n{"id": 2}]',
            "t.json:3: not valid JSON at column 1: expected ','",
        ),
        ("t.json", '[\n{"id": 1},\n3]', "t.json:3: 3 is not a task record"),
        ("t.json", '[{"id": 1}', "t.json:1: not valid JSON"),
        ("t.json", "[\n] x", "t.json:2: not valid JSON at column 2: there is text after the list"),
        ("t.json", '[\n{"id": 1},\n{"id": NaN}]', "t.json:3: not valid JSON: NaN"),
        ("t.csv", "id,task\n1,a,b\n", "t.csv:2: has 3 cells, but the header has 2; put cells with"),
        ("t.csv", "id,id\n1,2\n", "t.csv:1: the column name 'id' is empty or given twice"),
        ("t.csv", 'id,task\n1,"a\n', "t.csv:2: not valid CSV"),
        ("t.csv", "id,task,judge\n1,x,{\n", "t.csv:2: the cell 'judge' is not valid JSON"),
        ("t.csv", "id,task\n", "t.csv: holds no task record"),
        ("t.txt", "x", "t.txt: the ending '.txt' is not known; give a .jsonl, .json or .csv file"),
    ],
)
def test_a_bad_file_names_the_line_and_the_fix(workspace, faults, name, content, message):
    workspace.write(name, content)
    workspace.spec("", tasks=name)
    assert message in "\n".join(faults())


def test_a_csv_record_that_spans_lines_is_named_by_its_first(workspace, faults):
    workspace.write("t.csv", 'id,task,judge\n1,"two\nlines",{}\n2,x,oops\n')
    workspace.spec("", tasks="t.csv")
    text = "\n".join(faults())
    assert "t.csv:2: task '1': judge.kind is missing" in text
    assert "t.csv:4: the cell 'judge' is not valid JSON" in text


def test_a_missing_path_says_what_was_expected(workspace, faults):
    workspace.spec("", tasks="nowhere")
    assert faults()[0].startswith(
        "spec.yaml:2: tasks: 'nowhere' does not exist; expected a folder with benchmark.jsonl"
    )


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "spec.yaml:2: tasks: 's' holds no tasks; expected a folder with benchmark.jsonl"),
        (["valid_seen/x.jsonl"], "s/valid_seen: this split is called 'val' here; rename it"),
        (["valid_unseen.jsonl"], "s/valid_unseen.jsonl: this split is called 'test' here"),
        (["train.jsonl", "train/a.jsonl"], "s: has both train.jsonl and train for train; keep one"),
        (["benchmark.jsonl", "val.jsonl"], "s: has both benchmark.jsonl and a split folder's"),
        (["train/readme.txt"], "s/train: holds no .jsonl, .json or .csv file; put the tasks there"),
    ],
)
def test_a_folder_of_the_wrong_layout_is_explained(workspace, faults, files, message):
    (workspace.folder / "s").mkdir()
    for name in files:
        workspace.write_records(f"s/{name}", [record(1)])
    workspace.spec("", tasks="s")
    assert faults()[0].startswith(message)


def test_problems_of_all_files_are_collected_and_the_list_is_bounded(workspace, faults):
    workspace.write_records("s/train.jsonl", [{"id": str(n)} for n in range(60)])
    workspace.write("s/val.jsonl", "oops\n")
    workspace.spec("", tasks="s")
    found = faults()
    assert len(found) == 41
    assert found[-1] == "… and 81 more problems"


def test_task_problems_have_their_own_error_class(workspace):
    workspace.write("tasks.jsonl", "oops\n")
    with pytest.raises(TaskError):
        workspace.load()


def test_split_names_of_other_tools_are_translated():
    assert unknown_split("selection") == "the split 'selection' is called 'val' here"

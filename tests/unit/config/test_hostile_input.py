"""Input that is meant to break the reader: it must be refused in words, and quickly."""

from __future__ import annotations

import json

import pytest
from config_workspace import RULE, record
from config_workspace import resolve_entry as entry

from skillopt.config.catalogue import require_credentials
from skillopt.domain.backend import Backend
from skillopt.errors import ConfigError, TaskError

BOMB = "labels:\n  a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"  {new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (BOMB, "the file holds more than 100000 values"),
        ("labels: " + "[" * 2000 + "]" * 2000 + "\n", "nested too deeply"),
        ("labels: " + "[" * 80 + "]" * 80 + "\n", "spec.yaml:4: is nested more than 64 levels"),
        ("labels: !!python/object/apply:os.system [ls]\n", "is not supported here"),
        ("labels: !mine {a: b}\n", "spec.yaml:4: labels: '!mine' is not supported here"),
        ("budget:\n  <<: {max_calls: 3}\n", "spec.yaml:5: '<<' (merging) is not supported"),
        ("budget: {max_usd: 1e400}\n", "spec.yaml:4: budget.max_usd: '1e400' is no finite number"),
        ('preferences: "\\ud800"\n', "spec.yaml:4: preferences: '\\ud800' holds half of a surr"),
        ("judge: {kind: [rule]}\n", "spec.yaml:4: judge kind ['rule'] is not known"),
        ("labels: {a: 1}\n", "spec.yaml:4: labels.a: 1 is not a text; write it in quotes"),
        ("split: {ratio: ''}\n", "spec.yaml:4: split.ratio: '' does not fit here"),
        ("train: {samples: 999999999}\n", "train.samples: 999999999 is too large"),
    ],
)
def test_a_hostile_spec_is_refused_in_words(workspace, faults, more, message):
    workspace.spec(more)
    assert message in "\n".join(faults())


@pytest.mark.parametrize("name", ["skill", "tasks"])
def test_a_path_that_cannot_be_looked_at_is_named(workspace, faults, name):
    text = {"skill": "SKILL.md", "tasks": "tasks.jsonl"} | {name: "x" * 300}
    workspace.write(
        "spec.yaml",
        "model: {target: sim}\n" + "".join(f"{key}: {value}\n" for key, value in text.items()),
    )
    (fault,) = faults()
    assert "x" * 300 in fault
    assert "name another path" in fault


def test_a_home_folder_that_is_not_known_is_named(workspace, faults):
    workspace.write("spec.yaml", "skill: ~no-such-user/S.md\ntasks: t\nmodel: {target: sim}\n")
    assert "spec.yaml:1: '~no-such-user/S.md' begins with a home folder" in faults()[0]


def test_a_file_without_an_end_is_not_read(workspace, faults):
    workspace.write("spec.yaml", "skill: /dev/zero\ntasks: tasks.jsonl\nmodel: {target: sim}\n")
    assert faults() == ["/dev/zero: is not a regular file; save a skill document in one"]


def test_a_zero_byte_is_not_text(workspace, faults):
    workspace.write("SKILL.md", b"# Sums\n\nAdd\0carefully.\n")
    assert faults()[0].startswith("SKILL.md:3: holds a zero byte")


def test_a_message_about_a_huge_value_stays_short_and_keeps_its_fix(workspace, faults):
    workspace.spec(f"train: {{num_epochs: '{'x' * 100_000}'}}\n")
    (fault,) = faults()
    assert len(fault) < 1_100
    assert fault.startswith("spec.yaml:4: train.num_epochs: 'xxx")
    assert fault.endswith("give a whole number of at least 1")


BAD_LINES = [
    ('{"a": ' * 5000, "nested more than 64 levels deep"),
    (json.dumps(record(99, tools=[{"name": "t", "parameters": {"a": None}}])).replace(
        "null", "[" * 100 + "]" * 100
    ), "nested more than 64 levels deep"),
    (json.dumps(record(99, task="half \ud800 pair")), "holds half of a surrogate pair"),
    (json.dumps(record(99, tags=["\udfff"])), "holds half of a surrogate pair"),
    ('{"task_id": 1, "task": "x", "judge": {"kind": "exact", "answer": 1e999}}', "1e999 is too"),
    ('{"task_id": ' + "9" * 5000 + "}", "a number has 5000 digits; give at most 100"),
    (json.dumps(record(99, judge={"kind": ["rule"]})), "judge kind ['rule'] is not known"),
    (json.dumps(record(99, judge={"kind": {"a": 1}})), "judge kind {'a': 1} is not known"),
    (
        json.dumps(record(99, tools=[{"name": "t", "parameters": {"q": {"type": "string"}}}])),
        "tool 1: parameters has no 'type'; give {\"type\": \"object\"",
    ),
    (
        json.dumps(record(99, tools=[{"name": "t", "parameters": {"type": "string"}}])),
        "tool 1: parameters: {'type': 'string'} is not a schema of an object",
    ),
    (json.dumps(record(99, tools=["look", "Look"])), "tool 2: 'Look' is given twice ('look')"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), BAD_LINES)
def test_a_hostile_record_is_refused_with_its_line(workspace, faults, line, message):
    good = "".join(json.dumps(record(number)) + "\n" for number in range(12))
    workspace.write("tasks.jsonl", f"{good}{line}\n")
    (fault,) = faults()
    assert fault.startswith("tasks.jsonl:13: ")
    assert message in fault


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.json", "[" * 100_000, "t.json:1: not valid JSON: it is nested more than 64 levels"),
        ("t.json", '[{"id": 1},\n]', "t.json:1: not valid JSON at column 11: a record is missing"),
        ("t.jsonl", json.dumps([record(1)], indent=1), "t.jsonl:1: holds one JSON list; name the"),
        ("t.csv", "id;task\n1;x\n", "t.csv:1: the columns are separated by ';'; separate them by"),
        ("t.csv", "\n\nid,id\n", "t.csv:3: the column name 'id' is empty or given twice"),
        ("t.csv", ",,\n,,\n", "t.csv: holds no task record; add at least one"),
        ("t.csv", f"id,task,judge\n1,x,{'[' * 9000}\n", "t.csv:2: the cell 'judge' is not valid"),
        ("t.csv", "id,task,answer\n1,x,[\n", 'a cell that begins with [ is a JSON list, like ["'),
    ],
)
def test_a_hostile_file_is_refused_once(workspace, faults, name, text, message):
    workspace.write(name, text)
    workspace.spec("", tasks=name)
    (fault,) = faults()
    assert message in fault


def test_lines_of_a_json_list_are_counted(workspace, faults):
    workspace.write("t.json", '[\n\n{"id": "a"},\n\n{"id": "b"}]')
    workspace.spec("", tasks="t.json")
    lines = {fault.split(": ")[0] for fault in faults()}
    assert lines == {"t.json:3", "t.json:5"}


def test_a_judge_that_is_null_is_the_default_judge(workspace):
    workspace.write_records("tasks.jsonl", [record(number, judge=None) for number in range(12)])
    workspace.spec(f"judge: {json.dumps(RULE)}\n")
    assert workspace.load().plan.splits.train[0].judge.kind == "rule"


def test_another_tools_name_of_a_missing_split_is_explained(workspace):
    for number, name in enumerate(("train", "valid_seen", "test")):
        workspace.write_records(f"split/{name}.jsonl", [record(number)])
    workspace.spec("", tasks="split")
    with pytest.raises(TaskError, match=r"valid_seen\.jsonl: this split is called 'val' here"):
        workspace.load()


def test_a_missing_held_out_file_is_the_fix_of_an_empty_test_split(workspace, faults):
    workspace.write_records("b/benchmark.jsonl", [record(number) for number in range(6)])
    workspace.spec("", tasks="b")
    assert "add held-out.jsonl, or set evaluation.eval_test: false" in faults()[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{kind: [a]}", "backends.gpt.kind: ['a'] is not known"),
        ("{kind: simulated, timeout_s: 1e300}", "timeout_s: 1e+300 is too large"),
        ("{kind: simulated, params: {extra_headers: {'a b': c}}}", "'a b' is not the name of a h"),
        ('{kind: simulated, params: {extra_headers: {X: "a\\r\\nY: b"}}}', "cannot be sent in a h"),
        ("{kind: simulated, params: {extra_body: {stream: true}}}", "extra_body.stream is set by"),
        ("{kind: simulated, simulator: {port: 5}}", "simulator.port is chosen by skillopt"),
        ("{kind: simulated, simulator: {error_rate: true}}", "True is neither a number nor a text"),
        ("{kind: simulated, simulator: {models: [a]}}", "['a'] is neither a number nor a text"),
        (
            "{kind: simulated, base_url: 'http://127.0.0.1:1/v1', simulator: {seed: 1}}",
            "backends.gpt.simulator would change nothing beside base_url",
        ),
    ],
)
def test_a_hostile_backend_is_refused_with_its_line(workspace, text, message):
    with pytest.raises(ConfigError) as caught:
        entry(workspace, text)
    assert "my-backends.yaml:2: backends.gpt" in str(caught.value)
    assert message in str(caught.value)


def test_what_a_simulator_refuses_is_located_in_the_catalogue(workspace, faults):
    def refuse(backend):
        raise ConfigError("simulator options: eror_rate is not known")

    workspace.write("backends.yaml", "backends:\n\n  sim: {kind: simulated}\n")
    assert faults(publish_revision=refuse) == [
        "backends.yaml:3: backends.sim: simulator options: eror_rate is not known"
    ]


@pytest.mark.parametrize("key", ["", "  ", "\t\n", "sk-abc\n", "sk abc", "sk-\u00e4bc", "a\x00b"])
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(key):
    backend = Backend(name="gpt", kind="openai_chat", model="m", api_key_env="MY_VAR")
    with pytest.raises(ConfigError, match=r"backend 'gpt' needs a key: .* 'MY_VAR'") as caught:
        require_credentials([backend], {"MY_VAR": key})
    assert not key.strip() or key.strip() not in str(caught.value)


def test_set_is_the_place_of_a_section_that_it_brings(workspace, faults):
    assert faults(overrides=["trian.seed=1"])[0].startswith("--set: trian is not a known key")
    assert faults(overrides=["train.seed.x=1"])[0].startswith("--set: train.seed: {'x': 1}")


def test_a_task_that_is_twice_in_one_split_is_warned_about(workspace):
    twice = [record(1), record(1, task_id="again"), record(2)]
    for name, records in (("train", twice), ("val", [record(3)]), ("test", [record(4)])):
        workspace.write_records(f"split/{name}.jsonl", records)
    workspace.spec("", tasks="split")
    (warning,) = workspace.load().warnings
    assert "has the same content as task" in warning
    assert warning.endswith("it counts twice")

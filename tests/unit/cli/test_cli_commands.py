"""init, check and simulate as a person uses them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from producer.cli import main

ROOT = Path(main.__file__).parents[2]
START = "from producer.cli.main import entry; entry()"

SPEC = """\
name: tiny
skill: SKILL.md
tasks: tasks.jsonl
split: {ratio: "1:1:1", seed: 1}
model: {target: sim, optimizer: sim}
train: {num_epochs: 1, batch_size: 2}
"""


def task(number: int, **changes) -> dict:
    judge = {"kind": "rule", "checks": [{"op": "contains", "arg": "DONE"}]}
    return {"task_id": f"t{number}", "task": f"Write brief {number}.", "judge": judge, **changes}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A spec that passes, to be broken in one place."""
    monkeypatch.delenv("SKILLOPT_BACKENDS", raising=False)
    monkeypatch.delenv("SIM_URL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-configuration"))
    (tmp_path / "SKILL.md").write_text("# Briefs\n")
    write_tasks(tmp_path, [task(number) for number in range(6)])
    (tmp_path / "spec.yaml").write_text(SPEC)
    return tmp_path


def write_tasks(folder: Path, tasks: list[dict]) -> None:
    lines = "".join(json.dumps(one) + "\n" for one in tasks)
    (folder / "tasks.jsonl").write_text(lines)


def check(folder: Path, *options: str) -> int:
    return main.run_command(["check", str(folder / "spec.yaml"), *options])


# --- init -----------------------------------------------------------------------------------


def test_init_writes_an_example_that_check_accepts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.run_command(["init"]) == 0
    out = capsys.readouterr().out
    assert "skillopt check my-skill/spec.yaml" in out
    assert "skillopt run my-skill/spec.yaml" in out
    assert (tmp_path / "my-skill" / "SKILL.md").is_file()
    assert main.run_command(["check", "my-skill/spec.yaml", "--json"]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["ok"] is True
    assert all(checked["tasks"][split] > 0 for split in ("train", "val", "test"))


def test_init_prints_one_object_with_json(tmp_path, capsys):
    target = tmp_path / "a" / "b"
    assert main.run_command(["init", str(target), "--json"]) == 0
    written = json.loads(capsys.readouterr().out)
    assert str(target / "spec.yaml") in written["files"]
    assert all(Path(path).is_file() for path in written["files"])


def test_init_overwrites_nothing_and_names_what_is_there(tmp_path, capsys):
    (tmp_path / "SKILL.md").write_text("mine")
    assert main.run_command(["init", str(tmp_path)]) == 2
    assert repr(str(tmp_path / "SKILL.md")) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["SKILL.md"]
    assert (tmp_path / "SKILL.md").read_text() == "mine"


def test_init_keeps_other_files_of_the_folder(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    assert main.run_command(["init", str(tmp_path)]) == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_init_into_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main.run_command(["init", str(tmp_path / "taken")]) == 2
    assert "is a file" in capsys.readouterr().err


def test_init_where_nothing_can_be_written_is_refused(tmp_path, capsys):
    (tmp_path / "taken").write_text("")
    assert main.run_command(["init", str(tmp_path / "taken" / "below")]) == 2
    assert "cannot be written to" in capsys.readouterr().err


# --- run: what is refused before anything starts ---------------------------------------------


@pytest.mark.parametrize("url", ["", "foo", "http://host"])
def test_a_redis_url_that_is_none_is_refused_before_a_store_is_made(folder, capsys, url):
    assert main.run_command(["run", str(folder / "spec.yaml"), "--redis", url]) == 2
    assert "is not understood; write redis://host:port/0" in capsys.readouterr().err
    assert not (folder / ".skillopt").exists()


# --- check ----------------------------------------------------------------------------------


def test_check_shows_what_would_run(folder, capsys):
    assert check(folder) == 0
    out = capsys.readouterr().out
    assert "tiny" in out
    assert "train 2, val 2, test 2" in out
    assert "sim: simulated, model sim, free" in out
    assert "Ready to run." in out


def test_check_gives_the_run_id_as_json(folder, capsys):
    assert check(folder, "--json") == 0
    checked = json.loads(capsys.readouterr().out)
    assert checked["run"].startswith("tiny-")
    assert checked["steps"] == 1
    assert checked["backends"]["target"]["kind"] == "simulated"
    assert check(folder, "--json", "--set", "train.num_epochs=3") == 0
    changed = json.loads(capsys.readouterr().out)
    assert changed["steps"] == 3
    assert changed["run"] != checked["run"]


def test_check_calls_a_model_without_price_not_priced(folder, capsys):
    entry = "gpt: {kind: openai_compatible, base_url: 'http://127.0.0.1:9/v1', model: m}"
    (folder / "backends.yaml").write_text(f"backends:\n  {entry}\n")
    assert check(folder, "--set", "model.target=gpt") == 0
    assert "not priced" in capsys.readouterr().out


def test_check_limits_every_split(folder, capsys):
    assert check(folder, "--limit", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["tasks"] == {"train": 1, "val": 1, "test": 1}


def spec_with(old: str, new: str):
    def break_it(folder: Path) -> None:
        assert old in SPEC
        (folder / "spec.yaml").write_text(SPEC.replace(old, new))

    return break_it


def tasks_with(*changed: dict):
    def break_it(folder: Path) -> None:
        whole = [task(number) for number in range(6)]
        write_tasks(folder, [*changed, *whole[len(changed) :]])

    return break_it


def rule(**check) -> dict:
    return {"judge": {"kind": "rule", "checks": [check]}}


def backend_that_needs_a_key(folder: Path) -> None:
    (folder / "backends.yaml").write_text(
        "backends:\n  sim: {kind: openai_chat, model: m, api_key_env: TINY_KEY}\n"
    )


BAD_INPUT = {
    "unknown key": (spec_with("num_epochs", "num_epoch"), ["spec.yaml:6", "num_epoch"]),
    "unknown section": (spec_with("train:", "training:"), ["spec.yaml:6", "training"]),
    "wrong type": (spec_with("batch_size: 2", "batch_size: two"), ["batch_size", "'two'"]),
    "out of bounds": (spec_with("batch_size: 2", "batch_size: 0"), ["batch_size", "0"]),
    "not YAML": (spec_with("{num_epochs", "{{num_epochs"), ["spec.yaml", "YAML"]),
    "missing skill": (spec_with("SKILL.md", "NONE.md"), ["spec.yaml:2", "NONE.md"]),
    "missing tasks": (spec_with("tasks.jsonl", "none.jsonl"), ["spec.yaml:3", "none.jsonl"]),
    "unknown backend": (spec_with("target: sim", "target: simm"), ["model.target", "'simm'"]),
    "key not set": (backend_that_needs_a_key, ["'sim'", "TINY_KEY"]),
    "empty split": (
        lambda folder: write_tasks(folder, [task(0)]),
        ["tasks.jsonl", "val"],
    ),
    "duplicate ids": (tasks_with(task(1)), ["tasks.jsonl:2", "t1"]),
    "overlapping splits": (
        lambda folder: write_tasks(
            folder,
            [
                task(number, task="Same words.", split=split)
                for number, split in enumerate(("train", "val", "test"))
            ],
        ),
        ["tasks.jsonl", "t0", "t1"],
    ),
    "unknown op": (tasks_with(task(0, **rule(op="containz", arg="x"))), ["t0", "containz"]),
    "bad regex": (tasks_with(task(0, **rule(op="regex", arg="(a"))), ["t0", "'(a'"]),
    "not JSON": (
        lambda folder: (folder / "tasks.jsonl").write_text("{oops\n"),
        ["tasks.jsonl:1"],
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_exits_2_and_names_file_key_and_value(folder, monkeypatch, capsys, name):
    monkeypatch.delenv("TINY_KEY", raising=False)
    break_it, named = BAD_INPUT[name]
    break_it(folder)
    assert check(folder) == 2
    out, err = capsys.readouterr()
    assert out == ""
    for word in named:
        assert word in err
    assert "Traceback" not in err
    assert check(folder, "--json") == 2
    out, err = capsys.readouterr()
    message = json.loads(out)["error"]["message"]
    assert all(word in message for word in named)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        (["--set", "train.num_epoch=1"], "num_epoch"),
        (["--set", "nonsense"], "'nonsense'"),
        (["--backends", "nowhere.yaml"], "nowhere.yaml"),
    ],
)
def test_bad_options_are_named_too(folder, capsys, option, named):
    assert check(folder, *option) == 2
    assert named in capsys.readouterr().err


def test_all_problems_are_told_at_once(folder, capsys):
    spec_with("SKILL.md", "NONE.md")(folder)
    write_tasks(folder, [task(0), task(0)])
    assert check(folder) == 2
    err = capsys.readouterr().err
    assert "NONE.md" in err
    assert "t0" in err


# --- simulate -------------------------------------------------------------------------------


def test_simulate_says_where_it_is_and_stops_when_told(tmp_path):
    port_file = tmp_path / "port"
    process = subprocess.Popen(
        [sys.executable, "-c", START, "simulate", "--port-file", str(port_file), "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        printed = ""
        while not printed.rstrip().endswith("\n}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            printed += line
        started = json.loads(printed)
        assert int(port_file.read_text()) == started["port"]
        root = started["url"].removesuffix("/v1")
        with urllib.request.urlopen(f"{root}/behaviour", timeout=10) as answer:
            assert json.load(answer)["behaviour"] == started["behaviour"]
        process.send_signal(signal.SIGINT)
        rest, err = process.communicate(timeout=30)
        assert (process.returncode, rest, err) == (0, "", "")
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def test_simulate_on_a_taken_port_is_bad_input(capsys):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main.run_command(["simulate", "--port", str(port)]) == 2
    assert str(port) in capsys.readouterr().err

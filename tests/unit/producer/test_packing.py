"""What a spec needs is packed with it, in its places; nothing else leaves the machine."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from producer.queue.packing import pack_spec
from skillopt.errors import ConfigError, InputError, TaskError


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")


def _tasks(count: int = 8, **more: object) -> str:
    records = [
        {"id": f"t{n}", "task": f"Say {n}", "judge": {"kind": "exact", "answer": str(n)}, **more}
        for n in range(count)
    ]
    return "\n".join(map(json.dumps, records))


def _content(archive: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_everything_that_a_spec_refers_to_keeps_its_place(tmp_path: Path):
    _write(
        tmp_path,
        {
            "lib/base.yaml": "model: {target: sim}\nskill: greeter\nmemory: notes/MEMORY.md\n"
            "evolve: both\n",
            "lib/greeter/SKILL.md": "---\nname: greeter\ndescription: Greets.\n---\n# G\n",
            "lib/greeter/references/more.md": "more",
            "lib/greeter/.git/config": "private",
            "lib/notes/MEMORY.md": "",
            "lib/other.md": "private",
            "work/greeting/spec.yaml": "extends: ../../lib/base.yaml\ntasks: tasks\n",
            "work/greeting/tasks/train.jsonl": _tasks(3, attachments=["files/a.csv"]),
            "work/greeting/tasks/val.jsonl": _tasks(2)
            .replace("Say", "Tell")
            .replace('"t0', '"v0')
            .replace('"t1', '"v1'),
            "work/greeting/tasks/files/a.csv": "x,y\n",
            "work/greeting/tasks/files/unused.csv": "private",
            "work/greeting/backends.yaml": "backends: {}",
            "work/greeting/.env": "KEY=private",
        },
    )
    packed = pack_spec(tmp_path / "work/greeting/spec.yaml", tmp_path / "a.zip")
    assert packed.spec == "work/greeting/spec.yaml"
    assert packed.name == "greeting"
    content = _content(packed.archive)
    assert sorted(content) == list(packed.files)
    assert set(content) == {
        "lib/base.yaml",
        "lib/greeter/SKILL.md",
        "lib/greeter/references/more.md",
        "lib/notes/MEMORY.md",
        "work/greeting/spec.yaml",
        "work/greeting/tasks/train.jsonl",
        "work/greeting/tasks/val.jsonl",
        "work/greeting/tasks/files/a.csv",
    }
    assert not any(b"private" in one for one in content.values())


def test_two_names_of_one_content_and_links_are_packed_under_their_names(tmp_path: Path):
    _write(
        tmp_path,
        {
            "spec.yaml": "name: n\nskill: SKILL.md\ntasks: t.jsonl\nmodel: {target: sim}\n",
            "real.md": "# S\n",
            "t.jsonl": _tasks(4, attachments=["a.txt", {"path": "b.txt", "name": "c.txt"}]),
            "a.txt": "same",
            "b.txt": "same",
        },
    )
    (tmp_path / "SKILL.md").symlink_to("real.md")
    content = _content(pack_spec(tmp_path / "spec.yaml", tmp_path / "a.zip").archive)
    assert set(content) == {"spec.yaml", "SKILL.md", "t.jsonl", "a.txt", "b.txt"}
    assert content["SKILL.md"] == b"# S\n"


def test_own_prompts_go_along(tmp_path: Path):
    _write(
        tmp_path,
        {
            "spec.yaml": "skill: S.md\ntasks: t.jsonl\nprompts: p\nmodel: {target: sim}\n",
            "S.md": "# S\n",
            "t.jsonl": _tasks(),
            "p/rank.md": "x",
            "p/.hidden": "x",
        },
    )
    packed = pack_spec(tmp_path / "spec.yaml", tmp_path / "a.zip")
    assert packed.files == ("S.md", "p/rank.md", "spec.yaml", "t.jsonl")


@pytest.mark.parametrize(
    ("files", "error", "words"),
    [
        ({"spec.yaml": "skill: S.md\nmodel: {target: x}\n"}, ConfigError, "tasks"),
        (
            {"spec.yaml": "skill: S.md\ntasks: none\nmodel: {target: x}\n", "S.md": "# S"},
            TaskError,
            "does not exist",
        ),
        ({}, InputError, "spec.yaml"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(
    tmp_path: Path, files: dict[str, str], error: type[InputError], words: str
):
    _write(tmp_path, files)
    with pytest.raises(error, match=words):
        pack_spec(tmp_path / "spec.yaml", tmp_path / "a.zip")

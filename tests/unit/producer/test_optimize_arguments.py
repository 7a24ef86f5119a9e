"""`producer.optimize` refuses what cannot work before it starts, writes or pays for anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import producer
from skillopt.errors import InputError


def records(split: str) -> list[dict[str, Any]]:
    return [{"id": f"{split}-{n}", "task": f"Say {split} {n}."} for n in range(2)]


def says_hello(task: dict[str, Any], reply: str) -> bool:
    return "hello" in reply


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"judge": "exact"}, "judge: 'exact' is no judge"),
        ({"judge": lambda reply: True}, "def judge(task, reply)"),
        ({"judge": None}, "train[0]: task 'train-0': has no judge"),
        ({"judge": None, "judge_version": "1"}, "judge_version: '1' needs a function"),
        ({"judge": {"kind": "nonsense"}}, "'nonsense'"),
        ({"workers": 0}, "workers: 0 does not fit"),
        ({"workers": True}, "workers: True does not fit"),
        ({"concurrency": -1}, "concurrency: -1 does not fit"),
        ({"on_event": "print"}, "on_event: 'print' cannot be called"),
        ({"on_progress": 3}, "on_progress: 3 cannot be called"),
        ({"redis_url": "localhost"}, "localhost"),
        ({"settings": {"train": {"epochs": 1}}}, "settings: train.epochs"),
        ({"model": "gtp"}, "'gtp'"),
        ({"store": Path(__file__)}, "is not a folder"),
        (
            {
                "model": "paid",
                "backends": {"paid": {"kind": "openai_chat", "model": "m", "api_key_env": "NO_K"}},
            },
            "'NO_K' is not set",
        ),
        (
            {
                "model": "paid",
                "backends": {"paid": {"kind": "openai_compatible", "base_url": "http://127.0.0.1:9",
                                      "model": "m"}},
                "settings": {"budget": {"max_usd": 1}},
            },
            "has no price",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_named_and_nothing_is_written(tmp_path, monkeypatch, changes, named):
    monkeypatch.chdir(tmp_path)
    given = {
        "skill": "# Greet\n",
        "train": records("train"),
        "val": records("val"),
        "model": "sim",
        "judge": says_hello,
    } | changes
    with pytest.raises(InputError) as caught:
        producer.optimize(**given)
    assert named in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_package_loads_nothing_of_it():
    code = (
        "import sys, producer; "
        "print([n for n in sys.modules if n.split('.')[0] in "
        "('skillopt', 'pydantic', 'redis', 'rich', 'celery')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_package_offers_what_programs_need_and_nothing_else():
    for name in producer.__all__:
        assert getattr(producer, name) is not None
    assert issubclass(producer.Interrupted, KeyboardInterrupt)
    with pytest.raises(AttributeError, match="'optimise'"):
        producer.optimise  # noqa: B018

"""Trains a document on tasks that a Python function judges; the same command again costs nothing.

    python examples/optimize.py

The model is the simulated one, so no key is needed. Name a backend of yours instead of "sim" to
train for a real model, see configs/backends.yaml.
"""
# ruff: noqa: T201

from __future__ import annotations

from typing import Any

import producer
from producer import Score


def meetings(split: str, count: int) -> list[dict[str, Any]]:
    """Give task records: `id` and `task` are needed, other fields are for the judge."""
    task = "Summarise meeting {} of the {} committee."
    return [
        {"id": f"{split}-{n}", "task": task.format(n, split), "most_chars": 2000}
        for n in range(count)
    ]


def judge(task: dict[str, Any], reply: str) -> Score:
    """Pass if every criterion holds. Those that do not are what the document learns from."""
    return Score.of(
        {
            'the answer has a section headed "Open Points"': "## Open Points" in reply,
            'the answer contains "Owner:"': "Owner:" in reply,
            "the answer is at most 2000 characters long": len(reply) <= task["most_chars"],
        }
    )


result = producer.optimize(
    skill="# Minutes\n\nSummarise the meeting in a few sentences.\n",
    train=meetings("harbour", 6),
    val=meetings("budget", 4),
    test=meetings("garden", 4),
    judge=judge,
    model="sim",
    settings={"train": {"num_epochs": 1}, "budget": {"max_calls": 200}},
    on_event=lambda event: print("·", event.type),
).raise_if_paused()

assert result.initial.test is not None
assert result.best.test is not None
print(result.skill)
print(f"test: {result.initial.test.hard} -> {result.best.test.hard}")
print(f"{result.summary.new_calls} calls; everything about the run is in {result.run_dir}")

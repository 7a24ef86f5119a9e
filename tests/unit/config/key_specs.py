"""Spec files that differ in one key, with everything they refer to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from config_workspace import Workspace
from key_runs import WORDS, nested

from skillopt.config.load import LoadedSpec
from skillopt.errors import InputError

#: What a spec has at least; everything it names is in the folder.
LEAST: Mapping[str, Any] = {"skill": "SKILL.md", "tasks": "tasks.jsonl", "model.target": "sim"}

OTHER_SKILL = "# Other\n\nAlways say alpha.\n"
MEMORY = "# Facts\n\nAlways say beta.\n"
OWN_TEMPLATE = "Look for what went wrong. {{form}}{{skill_aware}}{{documents}}\n"
#: A backend that the packaged catalogue does not have.
LOCAL = {
    "kind": "openai_compatible",
    "base_url": "http://127.0.0.1:9/v1",
    "model": "small",
    "price": {"input": 1, "output": 2},
}


def task(number: int) -> dict[str, object]:
    word = WORDS[number % len(WORDS)]
    return {
        "task_id": f"t-{number}",
        "task": f"Task {number}: {word}?",
        "question": f"Which word is number {number}?",
        "answers": word,
        "judge": {"kind": "exact", "answer": word, "substring": True},
    }


def without(record: dict[str, object], *fields: str) -> dict[str, object]:
    return {name: value for name, value in record.items() if name not in fields}


def furnish(folder: Path) -> Workspace:
    workspace = Workspace(folder)
    tasks = [task(number) for number in range(12)]
    workspace.write_records("tasks.jsonl", [without(row, "question", "answers") for row in tasks])
    workspace.write_records("six.jsonl", [without(row, "question", "answers") for row in tasks[:6]])
    workspace.write_records("others.jsonl", [without(row, "judge", "task") for row in tasks])
    workspace.write("OTHER.md", OTHER_SKILL)
    workspace.write("MEMORY.md", MEMORY)
    workspace.write("own-prompts/reflect_failure.md", OWN_TEMPLATE)
    return workspace


def load(workspace: Workspace, values: Mapping[str, Any]) -> LoadedSpec:
    """Write a spec with these dotted keys and load it; JSON is YAML as well."""
    workspace.write("spec.yaml", json.dumps(nested({**LEAST, **values})))
    return workspace.load()


@dataclass(frozen=True)
class SpecRow:
    """A key of the spec file, its values, and what is loaded with each of them.

    `check` gets one loaded spec per value, or the message for one that is refused.
    """

    key: str
    values: tuple[Any, ...]
    check: Callable[..., None]
    around: Mapping[str, Any] = field(default_factory=dict)

    def loaded(self, folder: Path) -> list[LoadedSpec | str]:
        workspace = furnish(folder)
        found: list[LoadedSpec | str] = []
        for value in self.values:
            try:
                found.append(load(workspace, {**self.around, self.key: value}))
            except InputError as error:
                found.append(str(error))
        return found

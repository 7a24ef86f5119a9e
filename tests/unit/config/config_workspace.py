"""A small spec with everything it refers to, of which tests spoil one thing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from skillopt.config.catalogue import open_catalogue
from skillopt.config.load import LoadedSpec, load_plan
from skillopt.domain.backend import Backend
from skillopt.domain.item import Item

RULE = {"kind": "rule", "checks": [{"op": "contains", "arg": "Total:"}]}


def record(number: int, **changes: object) -> dict[str, object]:
    return {
        "task_id": f"t-{number}",
        "task": f"Add the numbers of page {number}.",
        "judge": RULE,
    } | (changes)


def sizes(loaded: LoadedSpec) -> tuple[int, int, int]:
    splits = loaded.plan.splits
    return len(splits.train), len(splits.val), len(splits.test)


def ids(items: tuple[Item, ...]) -> list[str]:
    return [item.id for item in items]


class Workspace:
    """A folder with a spec, a skill and twelve tasks, of which tests spoil one thing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("SKILL.md", "# Sums\n\nAdd carefully.\n")
        self.write_records("tasks.jsonl", [record(number) for number in range(12)])
        self.spec("")

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def write_records(self, name: str, records: list[dict[str, object]]) -> Path:
        return self.write(name, "".join(json.dumps(entry) + "\n" for entry in records))

    def spec(self, more: str, *, tasks: str = "tasks.jsonl", model: str = "{target: sim}") -> Path:
        """Write a spec whose fourth line is the first of `more`."""
        return self.write("spec.yaml", f"skill: SKILL.md\ntasks: {tasks}\nmodel: {model}\n{more}")

    def load(self, **options: object) -> LoadedSpec:
        given = {
            "environ": {},
            "publish_revision": lambda backend: "published-1",
        } | options
        return load_plan(self.folder / "spec.yaml", **given)  # type: ignore[arg-type]


def resolve_entry(
    workspace: Workspace, text: str, environ: Mapping[str, str] | None = None
) -> Backend:
    """Resolve a catalogue's one entry, written on its second line."""
    path = workspace.write("my-backends.yaml", f"backends:\n  gpt: {text}\n")
    return open_catalogue(environ or {}, backends_file=path).resolve("gpt")

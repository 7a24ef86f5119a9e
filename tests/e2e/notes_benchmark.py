"""A small benchmark: notes for a council, each judged by some of a few house rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CHECKS: dict[str, dict[str, Any]] = {
    "verdict": {"op": "contains", "arg": "Verdict:"},
    "confidence": {"op": "contains", "arg": "Confidence:"},
    "source": {"op": "contains", "arg": "Source:"},
    "owner": {"op": "contains", "arg": "Owner:"},
    "risks": {"op": "section_present", "arg": "Key Risks"},
    "deadline": {"op": "section_contains", "arg": "Deadline"},
    "code": {"op": "regex", "arg": r"[Ff]ile\s+[A-Z]\d"},
    "no verdict": {"op": "not_contains", "arg": "Verdict:"},
    "short": {"op": "max_chars", "arg": 400},
    # What no train task asks for: a val split with this never gets full marks.
    "untaught": {"op": "contains", "arg": "Seen by the board."},
}
TRAIN = ("verdict", "risks", "confidence", "source", "owner", "deadline", "verdict+owner", "risks")
VAL = ("verdict", "risks", "confidence", "source", "owner+deadline", "untaught")
TEST = ("verdict", "risks+confidence", "source")
#: Of two checks each, so that soft scores are between 0 and 1.
HALVES = (
    *("verdict+owner", "risks+confidence", "source+owner", "deadline+verdict"),
    *("confidence+source", "risks+deadline", "owner", "untaught"),
)
TOPICS = ("tides", "ferries", "bridges", "harbours", "lamps", "trams", "parks", "markets", "lifts")

FRONT_MATTER = "---\nname: notes\ndescription: How notes for the council are written.\n---\n"
FROZEN = "<!-- FROZEN_START -->\nNotes are for the council.\n<!-- FROZEN_END -->\n"
#: One rule of it is wrong, and all others are missing.
SKILL = f"""{FRONT_MATTER}
# Notes

Write a short, clear note. Lead with the answer.

- Never write "Verdict:".

{FROZEN}"""

KNOWN_RULES = tuple(f'Always include the exact text "{one}:".' for one in ("Source", "Owner"))

#: Settings that many runs share: two epochs of two steps, and no more than steps.
STEPS_OF_4 = {"num_epochs": 2, "batch_size": 4, "seed": 3}
NO_EPOCH_ENDS = {"use_slow_update": False, "use_meta_skill": False}


def skill_with(*rules: str) -> str:
    """Give the skill with these rules in the place of the wrong one."""
    return SKILL.replace('- Never write "Verdict:".', "\n".join(f"- {rule}" for rule in rules))


def tasks(split: str, wanted: Sequence[str], **more: dict[str, Any]) -> list[dict[str, Any]]:
    """Make a task of each entry, which names its checks; `more` adds fields to a task by id."""
    rows = []
    for number, names in enumerate(wanted):
        name = f"{split}_{number}"
        checks = [CHECKS[one] for one in names.split("+")]
        topic = TOPICS[number % len(TOPICS)]
        row = {
            "task_id": name,
            "task": f"Write a note on the {topic}, number {number} of {split}.",
            "judge": {"kind": "rule", "checks": checks},
        }
        rows.append(row | more.get(name, {}))
    return rows


def write_benchmark(
    folder: Path,
    settings: Mapping[str, Any],
    simulator: Mapping[str, Any],
    *,
    skill: str = SKILL,
    train: Sequence[dict[str, Any]] | None = None,
    val: Sequence[dict[str, Any]] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write spec, tasks and documents into a folder; gives the path of the spec."""
    splits = {
        "train": train or tasks("train", TRAIN),
        "val": val or tasks("val", VAL),
        "test": tasks("test", TEST),
    }
    texts = {
        "SKILL.md": skill,
        **{f"tasks/{n}.jsonl": "\n".join(map(json.dumps, rows)) for n, rows in splits.items()},
        **(files or {}),
    }
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    spec = {
        "name": "notes",
        "skill": "SKILL.md",
        "tasks": "tasks",
        "model": {"target": "sim", "optimizer": "sim"},
        "backends": {"sim": {"kind": "simulated", "simulator": dict(simulator)}},
        **settings,
    }
    path = folder / "spec.yaml"
    path.write_text(json.dumps(spec, indent=1), encoding="utf-8")
    return path

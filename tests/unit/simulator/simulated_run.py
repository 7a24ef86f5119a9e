"""A whole run in memory whose models are the simulator's, without a server between."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scripted_run import ScriptedRun, make_plan
from simulated_models import SimulatedModels

from skillopt.domain.item import Check, Item, RuleJudge, Splits, TaskPrompt
from skillopt.judges.registry import judge_versions
from skillopt.loop.templates import packaged
from skillopt.simulator.options import SimulatorOptions

SKILL = """---
name: notes
description: How notes are written.
---

# Notes

Write a short, clear note. Lead with the answer.

- Never write "Verdict:".

<!-- FROZEN_START -->
Notes are for the council.
<!-- FROZEN_END -->
"""
TOPICS = ("tides", "ferries", "bridges", "harbours", "lamps", "trams", "parks", "markets")
PARTS = (
    Check(op="contains", arg="Verdict:"),
    Check(op="section_present", arg="Key Risks"),
    Check(op="contains", arg="Confidence:"),
    Check(op="max_chars", arg=900),
)


def note(name: str, checks: Sequence[Check], number: int) -> Item:
    topic = f"{TOPICS[number % len(TOPICS)]} in {name}"
    return Item(
        id=f"{name}-{number}",
        prompt=TaskPrompt(task=f"Write a note on {topic}."),
        judge=RuleJudge(checks=tuple(checks)),
    )


def simulated_run(
    settings: dict[str, Any] | None = None,
    options: SimulatorOptions | None = None,
    *,
    parts: Sequence[Check] = PARTS,
    **plan: Any,
) -> ScriptedRun:
    """Train on notes, each of which is judged by one of `parts`."""
    changed = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "gradient": {"minibatch_size": 2, "merge_batch_size": 2},
        **(settings or {}),
    }
    optimizer = {"learning_rate": 4, "lr_scheduler": "constant", **changed.get("optimizer", {})}
    train = [note("train", [parts[n % len(parts)]], n) for n in range(8)]
    val = [note("val", [part], n) for n, part in enumerate(parts)]
    fields: dict[str, Any] = {
        "settings": {**changed, "optimizer": optimizer},
        "skill": SKILL,
        "splits": Splits(train=tuple(train), val=tuple(val), test=(note("test", parts, 0),)),
        "templates": packaged(),
        "judge_versions": judge_versions(),
        **plan,
    }
    models = SimulatedModels(options=options or SimulatorOptions())
    return ScriptedRun(make_plan(**fields), models=models).finish()


def val_scores(run: ScriptedRun) -> tuple[float, float]:
    """Give the hard val score of the first document and of the best one."""
    measured = run.state.measured
    first, best = (measured[(key, "val")].hard for key in (run.plan.initial_key, run.state.best))
    assert first is not None
    assert best is not None
    return first, best


def stages_asked(run: ScriptedRun) -> set[str]:
    """Name the optimizer stages that a run asked for."""
    specs = [job.spec for job in run.performed.values()]
    return {spec.stage for spec in specs if spec.kind == "optimize"}


def document(run: ScriptedRun) -> str:
    return run.state.texts[run.state.best].skill


__all__ = [
    "PARTS",
    "SKILL",
    "SimulatedModels",
    "document",
    "simulated_run",
    "stages_asked",
    "val_scores",
]

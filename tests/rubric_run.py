"""A whole run in memory whose tasks a model judges: target, optimizer and judge are simulated."""

from __future__ import annotations

from typing import Any

from scripted_run import ScriptedRun, make_plan
from simulated_models import SimulatedModels

from skillopt.domain.backend import BackendUse
from skillopt.domain.item import Item, RubricJudge, Splits, TaskPrompt
from skillopt.loop.templates import packaged
from skillopt.simulator.options import SimulatorOptions

SKILL = '# Notes\n\nWrite a short, clear note.\n\n- Never write "Verdict:".\n'
TOPICS = ("tides", "ferries", "bridges", "harbours", "lamps", "trams", "parks", "markets")
RUBRICS = (
    'A good note contains "Verdict:".',
    'The note has a section headed "Key Risks".',
    'It mentions "Confidence:" and stays within 900 characters.',
    'The note contains "Verdict:".\n\n- It has a section headed "Key Risks".',
)


def note(split: str, number: int, threshold: float) -> Item:
    judge = RubricJudge(rubric=RUBRICS[number % len(RUBRICS)], threshold=threshold)
    task = f"Write a note on {TOPICS[number]} in {split}."
    return Item(id=f"{split}-{number}", prompt=TaskPrompt(task=task), judge=judge)


def rubric_run(
    options: SimulatorOptions | None = None, *, threshold: float = 0.9, **plan: Any
) -> ScriptedRun:
    """Begin a run with eight train and four val notes; the judge's backend is one of its own."""
    use = {"backend": "sim", "fingerprint": "f1"}
    settings = {
        "train": {"num_epochs": 2, "batch_size": 4},
        "optimizer": {"learning_rate": 4, "lr_scheduler": "constant", "use_slow_update": True},
    }
    fields = {
        "settings": settings,
        "skill": SKILL,
        "splits": Splits(
            train=tuple(note("train", n, threshold) for n in range(8)),
            val=tuple(note("val", n, threshold) for n in range(4)),
            test=(note("test", 3, threshold),),
        ),
        "templates": packaged(),
        "judge_versions": {"rubric": 1},
        "backends": {
            "target": BackendUse(role="target", **use),
            "optimizer": BackendUse(role="optimizer", **use),
            "judge": BackendUse(role="judge", backend="critic", fingerprint="f2"),
        },
        **plan,
    }
    models = SimulatedModels(options=options or SimulatorOptions())
    return ScriptedRun(make_plan(**fields), models=models)

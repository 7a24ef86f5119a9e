"""Runs that reach the end of their second epoch with something to compare."""

from __future__ import annotations

import re
from typing import Any

from scripted_run import Models, ScriptedRun, item, make_plan

from skillopt.domain.item import Splits
from skillopt.domain.plan import RunPlan

WORDS = ("alpha", "beta", "gamma", "delta", "other", "extra")


class Crowded(Models):
    """A target that can keep three rules in mind: a new one pushes the oldest out."""

    def said(self, told: str, task: str, chance: float) -> str:
        return " ".join(re.findall(r"Always say (\w+)\.", told)[-3:])


def two_epochs(
    *,
    gradient: dict[str, Any] | None = None,
    evaluation: dict[str, Any] | None = None,
    **optimizer: Any,
) -> RunPlan:
    """Plan two epochs of two steps; each step applies one edit whatever the gate says."""
    words = (*WORDS, "alpha", "beta")
    return make_plan(
        splits=Splits(
            train=tuple(item(f"train-{i}", word) for i, word in enumerate(words)),
            val=tuple(item(f"val-{word}", word) for word in (*WORDS, "unknown")),
        ),
        settings={
            "gradient": {"minibatch_size": 2, "merge_batch_size": 2, **(gradient or {})},
            "optimizer": {
                "learning_rate": 1,
                "lr_scheduler": "constant",
                "use_slow_update": True,
                "use_meta_skill": True,
                **optimizer,
            },
            "evaluation": {"use_gate": False, "eval_test": False, **(evaluation or {})},
        },
    )


def crowded(plan: RunPlan | None = None, **more: Any) -> ScriptedRun:
    return ScriptedRun(plan or two_epochs(), models=Crowded(), **more)


def of_epochs(plan: RunPlan, n: int) -> RunPlan:
    train = plan.settings.train.model_copy(update={"num_epochs": n})
    return plan.model_copy(update={"settings": plan.settings.model_copy(update={"train": train})})

"""Runs of every mode, and their optimizer calls as the records find them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from scripted_models import stage_of
from scripted_run import SKILL, Models, ScriptedRun, make_plan

from producer.folder.moments import Moments
from producer.folder.optimizer_calls import Place, collect_optimizer
from producer.folder.stored import StoredCalls
from producer.records import OptimizerRecord
from producer.run_folder import RunFolder
from skillopt.domain.events import Event
from skillopt.domain.messages import Message

OPTIMIZER = {"learning_rate": 2, "min_learning_rate": 1, "lr_scheduler": "constant"}

#: What a mode changes in the settings, and in the plan.
MODES: dict[str, dict[str, Any]] = {
    "edits": {},
    "rewrite": {"optimizer": {"skill_update_mode": "rewrite_from_suggestions"}},
    "full rewrite": {"optimizer": {"skill_update_mode": "full_rewrite_minibatch"}},
    "autonomous": {"optimizer": {"lr_control_mode": "autonomous"}},
    "no limit": {"optimizer": {"lr_control_mode": "none"}},
    "notes": {
        "optimizer": {"use_skill_aware_reflection": True, "skill_aware_consolidate_threshold": 1}
    },
    "slow update": {
        "train": {"num_epochs": 3, "batch_size": 4},
        "optimizer": {"use_slow_update": True, "use_meta_skill": True, "learning_rate": 1},
    },
    "forced": {
        "train": {"num_epochs": 3, "batch_size": 4},
        "optimizer": {"use_slow_update": True, "slow_update_gate_with_selection": False},
        "evaluation": {"use_gate": False},
    },
    "early": {"evaluation": {"early_decision": True}},
    "several samples": {
        "train": {"num_epochs": 2, "batch_size": 4, "samples": 3},
        "evaluation": {"samples": 3, "significance": 0.2},
    },
    "short": {"optimizer": {"max_skill_tokens": 12}},
    "memory": {"evolve": "both"},
}


@dataclass
class Reminding(Models):
    """Analysts that also have two reminders of rules that exist, other ones each time."""

    def optimize(self, messages: tuple[Message, ...]) -> str:
        reply = json.loads(super().optimize(messages))
        if stage_of(messages).startswith("reflect_"):
            said = len(messages[1].content)
            reply["appendix_notes"] = [f"Mind the words, {said}.", f"Be brief, {said}."]
        return json.dumps(reply)


def run_of(mode: str, **changes: Any) -> ScriptedRun:
    """Give a run of a mode, not begun yet."""
    settings = {**MODES[mode]}
    settings["optimizer"] = {**OPTIMIZER, **settings.get("optimizer", {})}
    of_plan: dict[str, Any] = {"settings": settings}
    if mode == "memory":
        of_plan["memory"] = "# Memory\n\nNothing yet.\n"
    if mode == "early":  # what is left to gain is little, so that it is soon lost
        rules = "".join(f"Always say {word}.\n" for word in ("alpha", "beta", "gamma"))
        of_plan["skill"] = f"{SKILL}\n{rules}"
    models = Models(spread=0.4 if mode == "several samples" else 0.0)
    changes.setdefault("models", Reminding() if mode == "notes" else models)
    return ScriptedRun(make_plan(**of_plan), **changes)


def folder_of(run: ScriptedRun, path: Any) -> RunFolder:
    """Lay a run's folder out, with its log as far as it has come."""
    folder = RunFolder(path)
    folder.create(run.plan, {})
    folder.mirror(run.log())
    return folder


def stored_calls(run: ScriptedRun) -> StoredCalls:
    return StoredCalls(run.store.state(), run.state.run, run)


def calls_behind(run: ScriptedRun, *events: Event | None) -> list[OptimizerRecord]:
    moments = Moments(run.plan, lambda: run.events)
    behind = [moments.of(event) for event in events if event is not None]
    return collect_optimizer(behind, stored_calls(run), run, Place("a stage"))


def step_calls(run: ScriptedRun, number: int = 1) -> list[OptimizerRecord]:
    step = run.state.steps[number - 1]
    stages = (step.reflected, step.merged, step.budget, step.selected, step.noted)
    return calls_behind(run, *stages, step.proposed, step.skipped)


def end_calls(run: ScriptedRun, epoch: int) -> list[OptimizerRecord]:
    end = run.state.epoch_ends[epoch]
    return calls_behind(run, end.proposed, end.skipped, end.meta)

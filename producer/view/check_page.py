"""What a spec amounts to, once everything it names is read."""

from __future__ import annotations

import json
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view.backend_words import backend_object, backend_words
from producer.view.call_page import params_words
from producer.view.numbers import plural
from producer.view.printable import safe
from producer.view.stages import budget_words
from skillopt.config.explain import DEFAULT
from skillopt.config.load import LoadedSpec
from skillopt.domain.backend import Backend, BackendUse
from skillopt.domain.fingerprint import short, text_hash
from skillopt.domain.item import SPLITS
from skillopt.domain.plan import RunPlan
from skillopt.loop.gate_rules import protected_tasks
from skillopt.loop.sample import steps_per_epoch, total_steps
from skillopt.loop.spending import planned_gates
from skillopt.loop.templates import packaged

#: Longer values push only their own line to the right.
_VALUE_WIDTH = 24


def check_page(loaded: LoadedSpec) -> list[RenderableType]:
    """Give the run that the spec describes: documents, tasks, steps, backends, budget."""
    plan = loaded.plan
    table = Table(show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    rows = {
        "name": plan.name,
        "spec": str(loaded.spec_path),
        "skill": _skill_words(loaded),
        "memory": _memory_words(plan),
        "evolves": " and ".join(plan.evolving),
        "prompts": ", ".join(_own_templates(plan)) or "packaged",
        "tasks": ", ".join(f"{split} {len(plan.splits.of(split))}" for split in SPLITS),
        **_attachment_row(plan),
        "steps": (
            f"{total_steps(plan)} ({plan.settings.train.num_epochs} epochs of "
            f"{steps_per_epoch(plan)}, at most {plural(_tasks_per_step(plan), 'task')} each)"
        ),
        "gate": _gate_words(plan),
    }
    for role, use in plan.backends.items():
        rows[role] = _use_words(loaded, use)
    rows["budget"] = budget_words(plan.budget) + _payer_words(plan)
    rows["run"] = plan.run_id
    for name, value in rows.items():
        table.add_row(name, safe(value))
    return [table, Text("Ready to run.", style="bold green")]


def check_object(loaded: LoadedSpec) -> dict[str, Any]:
    """Give the same as a program reads it."""
    plan = loaded.plan
    return {
        "ok": True,
        "run": plan.run_id,
        "name": plan.name,
        "spec": str(loaded.spec_path),
        "spec_hash": plan.identity,
        "skill": {
            "path": str(loaded.skill_path),
            "hash": plan.skill_hash(plan.skill),
            "files": [file.path for file in plan.files or ()],
        },
        "memory": None if plan.memory is None else {"hash": text_hash(plan.memory)},
        "evolve": plan.settings.evolve,
        "prompts": _own_templates(plan),
        "tasks": {split: len(plan.splits.of(split)) for split in SPLITS},
        "attachments": _attachments(plan),
        "steps": total_steps(plan),
        "gates": planned_gates(plan),
        "backends": {
            role: _use_object(loaded.backends[use.backend], use)
            for role, use in plan.backends.items()
        },
        "budget": plan.budget.model_dump(mode="json"),
        "owner": plan.owner or None,
        "team": plan.team or None,
        "warnings": list(loaded.warnings),
        "lint": list(loaded.lint),
    }


def explain_page(loaded: LoadedSpec) -> Text:
    """Give every key with its value and where that came from, one a line."""
    shown = {
        key: json.dumps(explained.value, ensure_ascii=False)
        for key, explained in loaded.explained.items()
    }
    keys = max(map(len, shown))
    values = max(min(len(value), _VALUE_WIDTH) for value in shown.values())
    return safe(
        "\n".join(
            f"{key:{keys}}  {value:{values}}  {loaded.explained[key].origin}"
            for key, value in shown.items()
        )
    )


def explain_object(loaded: LoadedSpec) -> dict[str, Any]:
    return {
        "explain": {
            key: {"value": explained.value, "origin": explained.origin}
            for key, explained in loaded.explained.items()
        }
    }


def _skill_words(loaded: LoadedSpec) -> str:
    plan = loaded.plan
    beside = "" if plan.files is None else f", {plural(len(plan.files), 'file')} beside it"
    name = short(plan.skill_hash(plan.skill))
    return f"{loaded.skill_path} ({name}, {len(plan.skill):,} characters{beside})"


def _memory_words(plan: RunPlan) -> str:
    if plan.memory is None:
        return "none"
    return f"{len(plan.memory):,} characters" if plan.memory else "starts empty"


def _payer_words(plan: RunPlan) -> str:
    """Name whose budgets pay beside the run's own."""
    payers = {"owner": plan.owner, "team": plan.team}
    named = [f"{kind} {name!r}" for kind, name in payers.items() if name]
    return f"; {' and '.join(named)} may allow less" if named else ""


def _own_templates(plan: RunPlan) -> list[str]:
    """Name the templates that are not the packaged ones."""
    ours = packaged()
    return sorted(name for name, text in plan.templates.items() if ours.get(name) != text)


def _attachments(plan: RunPlan) -> dict[str, int]:
    """Count the tasks with files, and their files, each content once."""
    items = (item for split in SPLITS for item in plan.splits.of(split))
    files = plan.splits.attachments.values()
    return {
        "tasks": sum(bool(item.prompt.attachments) for item in items),
        "files": len(files),
        "bytes": sum(one.size for one in files),
    }


def _attachment_row(plan: RunPlan) -> dict[str, str]:
    counted = _attachments(plan)
    if not counted["files"]:
        return {}
    size = f"{plural(counted['files'], 'file')}, {plural(counted['bytes'], 'byte')}"
    return {"attachments": f"{size}, with {plural(counted['tasks'], 'task')}"}


def _gate_words(plan: RunPlan) -> str:
    settings = plan.settings.evaluation
    words = [f"{settings.gate_metric} on val"]
    if settings.samples > 1:
        words.append(f"{settings.samples} samples of each task")
    if settings.significance is not None:
        gates = plural(planned_gates(plan), "gate")
        words.append(f"significance {settings.significance:g} over {gates}")
    if settings.no_regression:
        protected = len(protected_tasks(settings.no_regression, plan.splits.val))
        words.append(f"no regression of {plural(protected, 'task')}")
    if not settings.use_gate:
        words.append("every candidate is kept")
    return ", ".join(words)


def _tasks_per_step(plan: RunPlan) -> int:
    train = plan.settings.train
    return min(train.batch_size * train.accumulation, len(plan.splits.train))


def _use_words(loaded: LoadedSpec, use: BackendUse) -> str:
    """Say what plays a role, and what the role or its stages change of it."""
    words = [backend_words(loaded.backends[use.backend])]
    if use.params is not None:
        words.append(f"with {params_words(use.told)}")
    words += [f"{stage} with {params_words(at.told)}" for stage, at in use.stages.items()]
    origin = loaded.explained[f"model.{use.role}"].origin
    if use.role == "judge" and origin.startswith(DEFAULT):
        words.append("as the optimizer: model.judge is not set")
    return "; ".join(words)


def _use_object(backend: Backend, use: BackendUse) -> dict[str, Any]:
    stages = {
        stage: {"fingerprint": at.fingerprint, "params": at.told}
        for stage, at in use.stages.items()
    }
    used = {"fingerprint": use.fingerprint, "params": use.told, "stages": stages}
    return backend_object(backend) | used

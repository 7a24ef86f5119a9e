"""What a spec amounts to, once everything it names is read."""

from __future__ import annotations

import json
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view import numbers
from producer.view.printable import safe
from producer.view.stages import budget_words
from skillopt.config.load import LoadedSpec
from skillopt.domain.backend import Backend
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
        "steps": (
            f"{total_steps(plan)} ({plan.settings.train.num_epochs} epochs of "
            f"{steps_per_epoch(plan)}, at most {_counted(_tasks_per_step(plan), 'task')} each)"
        ),
        "gate": _gate_words(plan),
    }
    for role, use in plan.backends.items():
        rows[role] = backend_words(loaded.backends[use.backend])
    rows["budget"] = budget_words(plan.budget)
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
        "steps": total_steps(plan),
        "gates": planned_gates(plan),
        "backends": {
            role: _backend_object(loaded.backends[use.backend])
            for role, use in plan.backends.items()
        },
        "budget": plan.budget.model_dump(mode="json"),
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
    beside = "" if plan.files is None else f", {_counted(len(plan.files), 'file')} beside it"
    name = short(plan.skill_hash(plan.skill))
    return f"{loaded.skill_path} ({name}, {len(plan.skill):,} characters{beside})"


def _memory_words(plan: RunPlan) -> str:
    if plan.memory is None:
        return "none"
    return f"{len(plan.memory):,} characters" if plan.memory else "starts empty"


def _own_templates(plan: RunPlan) -> list[str]:
    """Name the templates that are not the packaged ones."""
    ours = packaged()
    return sorted(name for name, text in plan.templates.items() if ours.get(name) != text)


def _gate_words(plan: RunPlan) -> str:
    settings = plan.settings.evaluation
    words = [f"{settings.gate_metric} on val"]
    if settings.samples > 1:
        words.append(f"{settings.samples} samples of each task")
    if settings.significance is not None:
        gates = _counted(planned_gates(plan), "gate")
        words.append(f"significance {settings.significance:g} over {gates}")
    if settings.no_regression:
        protected = len(protected_tasks(settings.no_regression, plan.splits.val))
        words.append(f"no regression of {_counted(protected, 'task')}")
    if not settings.use_gate:
        words.append("every candidate is kept")
    return ", ".join(words)


def _tasks_per_step(plan: RunPlan) -> int:
    train = plan.settings.train
    return min(train.batch_size * train.accumulation, len(plan.splits.train))


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def backend_words(backend: Backend) -> str:
    where = f" at {backend.base_url}" if backend.base_url else ""
    if backend.azure:
        where = f" at {', '.join(one.url for one in backend.azure.endpoints)}"
    return f"{backend.name}: {backend.kind}, model {backend.model}{where}, {price_words(backend)}"


def price_words(backend: Backend) -> str:
    """Say what a backend costs; one without a price is not free."""
    if backend.price is None:
        return "subscription, not priced" if backend.subscription else numbers.NOT_PRICED
    if not (backend.price.input or backend.price.output):
        return "free"
    return f"${backend.price.input:g} in, ${backend.price.output:g} out per million tokens"


def _backend_object(backend: Backend) -> dict[str, Any]:
    return {
        "name": backend.name,
        "kind": backend.kind,
        "model": backend.model,
        "fingerprint": backend.fingerprint,
        "price": backend.price.model_dump(mode="json") if backend.price else None,
        "subscription": backend.subscription,
    }

"""What a spec amounts to, once everything it names is read."""

from __future__ import annotations

from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from producer.view import numbers
from producer.view.printable import safe
from producer.view.words import budget_words
from skillopt.config.load import LoadedSpec
from skillopt.domain.backend import Backend
from skillopt.domain.fingerprint import short
from skillopt.domain.item import SPLITS
from skillopt.loop.sample import steps_per_epoch, total_steps


def check_page(loaded: LoadedSpec) -> list[RenderableType]:
    """Give the run that the spec describes: documents, tasks, steps, backends, budget."""
    plan = loaded.plan
    table = Table(show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    tasks = ", ".join(f"{split} {len(plan.splits.of(split))}" for split in SPLITS)
    rows = {
        "name": plan.name,
        "spec": str(loaded.spec_path),
        "skill": f"{loaded.skill_path} ({short(plan.initial_key)}, {len(plan.skill):,} characters)",
        "tasks": tasks,
        "steps": (
            f"{total_steps(plan)} ({plan.settings.train.num_epochs} epochs of "
            f"{steps_per_epoch(plan)}, {plan.settings.train.batch_size} tasks each)"
        ),
        "gate": f"{plan.settings.evaluation.gate_metric} on val",
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
        "skill": {"path": str(loaded.skill_path), "hash": plan.initial_key},
        "tasks": {split: len(plan.splits.of(split)) for split in SPLITS},
        "steps": total_steps(plan),
        "backends": {
            role: _backend_object(loaded.backends[use.backend])
            for role, use in plan.backends.items()
        },
        "budget": plan.budget.model_dump(mode="json"),
        "warnings": list(loaded.warnings),
    }


def backend_words(backend: Backend) -> str:
    where = f" at {backend.base_url}" if backend.base_url else ""
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

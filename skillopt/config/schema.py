"""The spec file: its keys, and how what a person wrote becomes settings."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Problems, dotted
from skillopt.config.role_section import MODEL, RoleSection, read_sections
from skillopt.config.spellings import FOREIGN_KEYS
from skillopt.config.translate import report
from skillopt.config.yaml_source import Document
from skillopt.domain.notices import Notify
from skillopt.domain.spec import (
    Budget,
    Evaluation,
    Evolve,
    Gradient,
    Optimizer,
    Priority,
    Settings,
    Stop,
    Train,
)
from skillopt.domain.usage import Role
from skillopt.errors import ConfigError

#: Stands for the target's backend where none is named, which is told by itself.
_UNNAMED = "unnamed"
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

NAME_HINT = "give letters, digits, '.', '_' and '-' only, 64 at most, a letter or digit first"

_HINTS = {
    "name": NAME_HINT,
    "owner": NAME_HINT,
    "team": NAME_HINT,
    "skill": "name the document to train, e.g. `skill: SKILL.md`",
    "tasks": "name a task file or folder, e.g. `tasks: tasks`",
    "env": "write `env: tasks`",
    "model": "name a backend for each role, e.g. `model: {target: sim, optimizer: sim}`",
    "model.target": "name a backend of the catalogue, e.g. `target: sim`",
    "split.ratio": 'write it like "2:1" (train:val) or "2:1:1" (train:val:test)',
    "memory": "name the memory document, e.g. `memory: MEMORY.md`",
    "prompts": "name a folder with templates, e.g. `prompts: prompts`",
    "evaluation.no_regression": "write a list of val tasks, like [t-1, 'tag:safety'], or [all]",
    "cache": "give on, refresh or off",
    "notify.webhook": "give a URL like https://hooks.example/run",
    "notify.on": "give a list of finished, paused, budget, dead",
    "priority": "give low, normal or high",
}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Split(_Section):
    """How tasks without a split of their own are divided."""

    ratio: str | None = None
    seed: int = 42


class Roles(_Section):
    """Which backend of the catalogue plays which role.

    The target's also optimizes by default, and the optimizer's judges where a task asks a model.
    """

    target: str = Field(min_length=1)
    optimizer: str | None = Field(default=None, min_length=1)
    judge: str | None = Field(default=None, min_length=1)


class SpecFile(_Section):
    name: str | None = Field(default=None, pattern=NAME_PATTERN)
    skill: str = Field(min_length=1)
    evolve: Evolve = "skill"
    #: The memory document; a run that evolves one may start without.
    memory: str | None = Field(default=None, min_length=1)
    #: A folder with prompt templates that take the place of the packaged ones.
    prompts: str | None = Field(default=None, min_length=1)
    tasks: str = Field(min_length=1)
    split: Split = Split()
    env: Literal["tasks"] = "tasks"
    model: Roles
    judge: dict[str, Any] | None = None
    fields: dict[str, str] = Field(default_factory=dict)
    backends: dict[str, Any] = Field(default_factory=dict)
    train: Train = Train()
    gradient: Gradient = Gradient()
    optimizer: Optimizer = Optimizer()
    evaluation: Evaluation = Evaluation()
    stop: Stop = Stop()
    budget: Budget = Budget()
    #: Who pays beside the run; the environment of whoever submits it says so otherwise.
    owner: str | None = Field(default=None, pattern=NAME_PATTERN)
    team: str | None = Field(default=None, pattern=NAME_PATTERN)
    #: Weight among the runs of the same owner.
    priority: Priority = "normal"
    preferences: str = ""
    cache: Literal["on", "refresh", "off"] = "on"
    labels: dict[str, str] = Field(default_factory=dict)
    #: Who is told of the run's news.
    notify: Notify = Notify()

    @property
    def settings(self) -> Settings:
        return Settings(
            train=self.train,
            gradient=self.gradient,
            optimizer=self.optimizer,
            evaluation=self.evaluation,
            stop=self.stop,
            evolve=self.evolve,
            preferences=self.preferences,
            cache=self.cache,
        )


@dataclass(frozen=True)
class ParsedSpec:
    spec: SpecFile
    document: Document
    #: The roles that are written as sections.
    roles: Mapping[Role, RoleSection] = field(default_factory=dict)


def parse_spec(document: Document) -> ParsedSpec:
    """Validate a spec; raises one ConfigError with every problem on a line of its own."""
    problems = Problems()
    data = _as_values(document)
    roles = _unwrap_roles(data, document, problems)
    _refuse_environment_section(data, document, problems)
    spec = None
    try:
        spec = SpecFile.model_validate(data, strict=True)
    except ValidationError as error:
        report(error, SpecFile, document=document, problems=problems, hints=_HINTS)
    if spec is not None:
        _refuse_contradictions(spec, document, problems)
    problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
    assert spec is not None
    return ParsedSpec(spec, document, roles)


def _as_values(document: Document) -> dict[str, Any]:
    """Give what was written in the form that is validated."""
    # A heading whose lines are all commented out says nothing.
    data = {key: copy.deepcopy(value) for key, value in document.data.items() if value is not None}
    evaluation = data.get("evaluation")
    if isinstance(evaluation, dict) and isinstance(evaluation.get("no_regression"), list):
        evaluation["no_regression"] = tuple(evaluation["no_regression"])
    return data


def _refuse_contradictions(spec: SpecFile, document: Document, problems: Problems) -> None:
    """Name settings that are fine each by itself but not together."""
    mode = spec.optimizer.skill_update_mode
    if spec.evolve == "both" and mode != "patch":
        problems.add(
            document.origin(("optimizer", "skill_update_mode")),
            f"optimizer.skill_update_mode: {mode!r} writes one document, but evolve is 'both' "
            f"({document.origin(('evolve',))}); write skill_update_mode: patch, or evolve: skill "
            "or memory",
        )


def _unwrap_roles(
    data: dict[str, Any], document: Document, problems: Problems
) -> dict[Role, RoleSection]:
    """Let the name of its backend stand for a role that is written as a section."""
    sections = read_sections(document, problems)
    for role, section in sections.items():
        # A section without a usable name is a problem already, or means the default.
        data[MODEL][role] = section.use or (None if role != "target" else _UNNAMED)
    return sections


def _refuse_environment_section(
    data: dict[str, Any], document: Document, problems: Problems
) -> None:
    """Explain `env:` written as a section, which other tools have."""
    if not isinstance(data.get("env"), dict):
        return
    for key in data.pop("env"):
        path = ("env", key)
        advice = FOREIGN_KEYS.get(key, "remove it; env is a word here: `env: tasks`")
        problems.add(document.origin(path), f"{dotted(path)} is not a known key; {advice}")

"""The spec file: its keys, and how what a person wrote becomes settings."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.config.origins import MAX_PROBLEMS_SHOWN, KeyPath, Problems, dotted
from skillopt.config.spellings import FOREIGN_KEYS
from skillopt.config.translate import report, unknown_key
from skillopt.config.yaml_source import Document
from skillopt.domain.spec import Budget, Evaluation, Gradient, Optimizer, Settings, Stop, Train
from skillopt.domain.usage import ROLES
from skillopt.errors import ConfigError

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"

_HINTS = {
    "name": "give letters, digits, '.', '_' and '-' only, 64 at most, a letter or digit first",
    "skill": "name the document to train, e.g. `skill: SKILL.md`",
    "tasks": "name a task file or folder, e.g. `tasks: tasks`",
    "env": "write `env: tasks`",
    "model": "name a backend for each role, e.g. `model: {target: sim, optimizer: sim}`",
    "model.target": "name a backend of the catalogue, e.g. `target: sim`",
    "split.ratio": 'write it like "2:1" (train:val) or "2:1:1" (train:val:test)',
    "cache": "give on, refresh or off",
}

#: Switches of mechanisms that this version runs without.
_LATER_SWITCHES = ("use_slow_update", "use_meta_skill", "use_skill_aware_reflection")
#: What those mechanisms would be tuned with; asks for nothing by itself.
_LATER_TUNING: dict[str, type] = {"slow_update_samples": int, "longitudinal_pair_policy": str}


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Split(_Section):
    """How tasks without a split of their own are divided."""

    ratio: str | None = None
    seed: int = 42


class Roles(_Section):
    """Which backend of the catalogue plays which role; the target also optimizes by default."""

    target: str = Field(min_length=1)
    optimizer: str | None = Field(default=None, min_length=1)
    judge: str | None = Field(default=None, min_length=1)


class SpecFile(_Section):
    name: str | None = Field(default=None, pattern=NAME_PATTERN)
    skill: str = Field(min_length=1)
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
    preferences: str = ""
    cache: Literal["on", "refresh", "off"] = "on"
    labels: dict[str, str] = Field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return Settings(
            train=self.train,
            gradient=self.gradient,
            optimizer=self.optimizer,
            evaluation=self.evaluation,
            stop=self.stop,
            preferences=self.preferences,
            cache=self.cache,
        )


@dataclass(frozen=True)
class ParsedSpec:
    spec: SpecFile
    document: Document
    warnings: tuple[str, ...]


def parse_spec(document: Document) -> ParsedSpec:
    """Validate a spec; raises one ConfigError with every problem on a line of its own."""
    problems = Problems()
    # A heading whose lines are all commented out says nothing.
    data = {key: copy.deepcopy(value) for key, value in document.data.items() if value is not None}
    warnings = _take_later_keys(data, document, problems)
    _unwrap_roles(data, document, problems)
    _refuse_environment_section(data, document, problems)
    spec = None
    try:
        spec = SpecFile.model_validate(data, strict=True)
    except ValidationError as error:
        report(error, SpecFile, document=document, problems=problems, hints=_HINTS)
    problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
    assert spec is not None
    return ParsedSpec(spec, document, tuple(warnings))


def _take_later_keys(data: dict[str, Any], document: Document, problems: Problems) -> list[str]:
    """Take the keys of later mechanisms out; returns a warning for each that was asked for."""
    warnings = []
    optimizer = data.get("optimizer")
    if isinstance(optimizer, dict):
        for key in _LATER_SWITCHES:
            value = optimizer.pop(key, None)
            if value is True:
                warnings.append(
                    f"optimizer.{key}: not part of this version; the run goes on without it"
                )
            elif value is not None and value is not False:
                path = ("optimizer", key)
                problems.add(
                    document.origin(path),
                    f"{dotted(path)}: {value!r} is not true or false; write true or false",
                )
        for key, kind in _LATER_TUNING.items():
            value = optimizer.pop(key, None)
            if value is not None and type(value) is not kind:
                path = ("optimizer", key)
                wanted = "a whole number" if kind is int else "a text"
                problems.add(
                    document.origin(path),
                    f"{dotted(path)}: {value!r} is not {wanted}; this version does not use it, "
                    "remove it",
                )
    evaluation = data.get("evaluation")
    if isinstance(evaluation, dict) and evaluation.pop("significance", None) is not None:
        path = ("evaluation", "significance")
        problems.add(
            document.origin(path), "evaluation.significance: not part of this version; remove it"
        )
    return warnings


def _unwrap_roles(data: dict[str, Any], document: Document, problems: Problems) -> None:
    """Let `{use: name}` stand for `name`."""
    roles = data.get("model")
    if not isinstance(roles, dict):
        return
    for role in ROLES:
        written = roles.get(role)
        if not isinstance(written, dict):
            continue
        roles[role] = written.get("use", "")
        for key in written.keys() - {"use"}:
            path: KeyPath = ("model", role, key)
            text = unknown_key(dotted(path), key, ["use"])
            if key == "params":
                text = f"{dotted(path)} is not part of this version; give the params to a backend"
            problems.add(document.origin(path), text)


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

"""From a spec file to a run plan: the one way in for every command."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from skillopt.config.catalogue import Catalogue, open_catalogue, require_prices
from skillopt.config.entries import PUBLISHED_REVISION
from skillopt.config.judge_input import read_judge
from skillopt.config.layers import apply_overrides, load_layers
from skillopt.config.origins import (
    MAX_PROBLEMS_SHOWN,
    KeyPath,
    Origin,
    Problems,
    dotted,
    unusable_path,
)
from skillopt.config.schema import NAME_PATTERN, ParsedSpec, parse_spec
from skillopt.config.skill_file import find_skill, read_skill
from skillopt.config.spellings import split_named, unknown_split
from skillopt.config.tasks import LoadedTasks, TaskSource, load_tasks
from skillopt.domain.backend import Backend, BackendUse
from skillopt.domain.item import SPLITS, SplitName, Splits
from skillopt.domain.plan import RunPlan
from skillopt.domain.spec import Settings
from skillopt.domain.usage import Role
from skillopt.errors import ConfigError
from skillopt.loop.templates import packaged

PublishRevision = Callable[[Backend], str]

_CACHE_MODES = ("on", "refresh", "off")
_ATTEMPT_TEMPLATE = "attempt"
_MAX_NAME_CHARS = 64


@dataclass(frozen=True)
class LoadedSpec:
    """A plan, and what is needed beside it to start the run and to explain it."""

    plan: RunPlan
    #: The backends that play a role in the plan, by name.
    backends: dict[str, Backend]
    spec_path: Path
    skill_path: Path
    warnings: list[str] = field(default_factory=list)
    #: Dotted key -> "file:line" of its value.
    origins: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


def load_plan(
    spec_path: Path,
    *,
    backends_file: Path | None = None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    limit: int | None = None,
    cache: str | None = None,
    publish_revision: PublishRevision,
) -> LoadedSpec:
    """Load a training run.

    `publish_revision` is asked for the behaviour id of each simulated backend. Raises InputError
    (ConfigError or TaskError) with every problem found, one per line.
    """
    parsed = _parse(spec_path, overrides, cache)
    spec = parsed.spec
    needed: tuple[SplitName, ...] = SPLITS if spec.evaluation.eval_test else ("train", "val")
    parts = _Parts(parsed, environ, backends_file, publish_revision)
    roles: dict[Role, str] = {
        "target": spec.model.target,
        "optimizer": spec.model.optimizer or spec.model.target,
    }
    skill_path, skill, tasks, backends = parts.read(None, needed, limit, roles)
    plan = RunPlan(
        name=_run_name(parsed, spec_path),
        env=spec.env,
        settings=spec.settings,
        skill=skill,
        splits=tasks.splits,
        templates=packaged(),
        judge_versions=_judge_versions(tasks.splits),
        backends=_uses(roles, backends),
        budget=spec.budget,
    )
    return _loaded(plan, parsed, spec_path, skill_path, backends, tasks)


def load_eval_plan(  # noqa: PLR0913 - every option a command hands down
    spec_path: Path,
    *,
    skill_path: Path | None = None,
    split: str = "test",
    backends_file: Path | None = None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    limit: int | None = None,
    cache: str | None = None,
    publish_revision: PublishRevision,
) -> LoadedSpec:
    """Load a measurement of one document (the spec's, or another) on one split.

    The plan holds only what a measurement depends on: the target, one split, one template.
    """
    measured = split_named(split)
    if measured is None:
        raise ConfigError(f"--split: {unknown_split(split)}")
    parsed = _parse(spec_path, overrides, cache)
    spec = parsed.spec
    roles: dict[Role, str] = {"target": spec.model.target}
    parts = _Parts(parsed, environ, backends_file, publish_revision)
    found, skill, tasks, backends = parts.read(skill_path, (measured,), limit, roles)
    splits = Splits(**{measured: tasks.splits.of(measured)})
    plan = RunPlan(
        name=f"{_run_name(parsed, spec_path)[: _MAX_NAME_CHARS - 5]}-eval",
        mode="eval",
        eval_split=measured,
        env=spec.env,
        settings=Settings(evaluation=spec.evaluation, cache=spec.cache),
        skill=skill,
        splits=splits,
        templates={_ATTEMPT_TEMPLATE: packaged()[_ATTEMPT_TEMPLATE]},
        judge_versions=_judge_versions(splits),
        backends=_uses(roles, backends),
        budget=spec.budget,
    )
    return _loaded(plan, parsed, spec_path, found, backends, tasks)


def _parse(spec_path: Path, overrides: Sequence[str], cache: str | None) -> ParsedSpec:
    if cache is not None:
        if cache not in _CACHE_MODES:
            raise ConfigError(f"--cache: {cache!r} is not one of {', '.join(_CACHE_MODES)}")
        overrides = (*overrides, f"cache={cache}")
    try:
        document = load_layers(spec_path)
    except OSError as error:
        raise ConfigError(unusable_path(error)) from error
    return parse_spec(apply_overrides(document, overrides))


@dataclass(frozen=True)
class _Parts:
    """Reads what a spec refers to; the problems of all parts are raised together."""

    parsed: ParsedSpec
    environ: Mapping[str, str]
    backends_file: Path | None
    publish_revision: PublishRevision

    def read(
        self,
        skill_path: Path | None,
        needed: tuple[SplitName, ...],
        limit: int | None,
        roles: Mapping[Role, str],
    ) -> tuple[Path, str, LoadedTasks, dict[str, Backend]]:
        problems = Problems()
        skill = problems.attempt(lambda: self._skill(skill_path))
        backends = problems.attempt(lambda: self._backends(roles))
        problems.attempt(self._check_default_judge)
        tasks = problems.attempt(lambda: load_tasks(self._task_source(needed, limit)))
        problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
        assert skill is not None
        assert backends is not None
        assert tasks is not None
        return (*skill, tasks, backends)

    def _where(self, *path: str) -> Origin:
        return self.parsed.document.origin(path)

    def _skill(self, other: Path | None) -> tuple[Path, str]:
        if other is not None:
            path = find_skill(other, Origin("--skill"))
        else:
            where = self._where("skill")
            path = find_skill(where.path(self.parsed.spec.skill), where)
        return path, read_skill(path)

    def _check_default_judge(self) -> None:
        judge = self.parsed.spec.judge
        if judge is None:
            return
        # An exact judge may leave the answer to each task.
        _, faults = read_judge(judge, answers="any")
        problems = Problems()
        for fault in faults:
            problems.add(self._where("judge"), fault)
        problems.raise_any(ConfigError)

    def _backends(self, roles: Mapping[Role, str]) -> dict[str, Backend]:
        spec = self.parsed.spec
        catalogue = open_catalogue(
            self.environ, spec=self.parsed.document, backends_file=self.backends_file
        )
        # A judge's backend makes no call in this version; its name must still be known.
        named: dict[Role, str] = {**roles}
        if spec.model.judge is not None:
            named["judge"] = spec.model.judge
        problems = Problems()
        backends: dict[str, Backend] = {}
        tried: set[str] = set()
        for role, name in named.items():
            if name in tried:
                continue
            tried.add(name)
            where, key = self._where("model", role), f"model.{role}"
            backend = problems.attempt(partial(catalogue.resolve, name, where=where, key=key))
            if backend is not None and role in roles:
                published = problems.attempt(partial(self._published, backend, catalogue))
                backends[name] = published or backend
        problems.raise_any(ConfigError)
        require_prices(backends.values(), max_usd=spec.budget.max_usd)
        return backends

    def _published(self, backend: Backend, catalogue: Catalogue) -> Backend:
        """Ask a simulated backend what it is; an answer that fails is located in the catalogue."""
        if backend.kind != "simulated" or backend.revision != PUBLISHED_REVISION:
            return backend
        try:
            revision = self.publish_revision(backend)
        except ConfigError as error:
            where = catalogue.origin(backend.name)
            raise ConfigError(f"{where}: backends.{backend.name}: {error}") from error
        return backend.model_copy(update={"revision": revision})

    def _task_source(self, needed: tuple[SplitName, ...], limit: int | None) -> TaskSource:
        spec = self.parsed.spec
        where = self._where("tasks")
        return TaskSource(
            path=where.path(spec.tasks),
            where=where,
            ratio=spec.split.ratio,
            where_ratio=self._where("split", "ratio"),
            seed=spec.split.seed,
            fields=spec.fields,
            where_fields=self._where("fields"),
            judge=spec.judge,
            needed=needed,
            limit=limit,
        )


def _run_name(parsed: ParsedSpec, spec_path: Path) -> str:
    if parsed.spec.name is not None:
        return parsed.spec.name
    resolved = spec_path.resolve()
    source = resolved.parent.name if resolved.stem == "spec" else resolved.stem
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", source).lstrip("._-")[:_MAX_NAME_CHARS]
    if not re.fullmatch(NAME_PATTERN, name):
        raise ConfigError(
            f"{spec_path}: no name follows from {source!r}; add `name:` with letters and digits"
        )
    return name


def _uses(roles: Mapping[Role, str], backends: Mapping[str, Backend]) -> dict[Role, BackendUse]:
    return {
        role: BackendUse(role=role, backend=name, fingerprint=backends[name].fingerprint)
        for role, name in roles.items()
    }


def _judge_versions(splits: Splits) -> dict[str, int]:
    """The versions of the judges that these tasks use; others cannot change the outcome."""
    # Imported here: the operations of rules bring a regular expression engine with them.
    from skillopt.judges import judge_versions  # noqa: PLC0415

    used = {item.judge.kind for split in SPLITS for item in splits.of(split)}
    return {kind: version for kind, version in judge_versions().items() if kind in used}


def _loaded(
    plan: RunPlan,
    parsed: ParsedSpec,
    spec_path: Path,
    skill_path: Path,
    backends: dict[str, Backend],
    tasks: LoadedTasks,
) -> LoadedSpec:
    shown: dict[KeyPath, Origin] = dict(parsed.document.origins)
    return LoadedSpec(
        plan=plan,
        backends=backends,
        spec_path=spec_path,
        skill_path=skill_path,
        warnings=[*parsed.warnings, *tasks.warnings],
        origins={dotted(path): str(where) for path, where in shown.items()},
        labels=dict(parsed.spec.labels),
    )

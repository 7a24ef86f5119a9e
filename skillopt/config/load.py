"""From a spec file to a run plan: the one way in for every command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.config.agent_tools import check_agent_tools
from skillopt.config.explain import Explained, explain
from skillopt.config.layers import apply_overrides, load_layers
from skillopt.config.no_room import no_room
from skillopt.config.origins import Origin, unusable_path
from skillopt.config.parts import Parts, PartsReader, Wanted
from skillopt.config.payers import payers
from skillopt.config.power import never_significant
from skillopt.config.published import PublishRevision
from skillopt.config.roles import needs_model_judge
from skillopt.config.schema import NAME_PATTERN, ParsedSpec, parse_spec
from skillopt.config.shown_attachments import check_attachments
from skillopt.config.skill_file import skill_warnings
from skillopt.config.spellings import split_named, unknown_split
from skillopt.config.unused import unused_settings
from skillopt.config.unused_stages import unused_stages
from skillopt.domain.backend import Backend
from skillopt.domain.item import SPLITS, SplitName, Splits
from skillopt.domain.notices import Notify
from skillopt.domain.plan import Mode, RunPlan
from skillopt.domain.spec import Evaluation, Settings
from skillopt.errors import ConfigError

_CACHE_MODES = ("on", "refresh", "off")
_ATTEMPT_TEMPLATE, _RUBRIC_TEMPLATE = "attempt", "rubric"
_MAX_NAME_CHARS = 64
_FEWEST_ARMS, _MOST_ARMS = 2, 100


@dataclass(frozen=True)
class LoadedSpec:
    """A plan, and what is needed beside it to start the run and to explain it."""

    plan: RunPlan
    #: The backends that play a role in the plan, by name.
    backends: dict[str, Backend]
    spec_path: Path
    skill_path: Path
    #: Everything worth telling before the run, what is suspicious about the tasks included.
    warnings: list[str] = field(default_factory=list)
    #: Only what is suspicious about the tasks of a training.
    lint: list[str] = field(default_factory=list)
    #: Every key, dotted, with its value and where that came from.
    explained: dict[str, Explained] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    #: Who is told of the run's news.
    notify: Notify = field(default_factory=Notify)
    #: Where the content of each attachment of the plan lies, by its hash.
    attachments: dict[str, Path] = field(default_factory=dict)
    #: The variables that the catalogue names for keys, also of backends that play no role.
    key_variables: frozenset[str] = frozenset()


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

    `publish_revision` is asked what only a backend itself can tell: a simulator's behaviour, the
    version of an agent program. Raises InputError (ConfigError or TaskError) with every problem
    found, one per line.
    """
    parsed = _parse(spec_path, overrides, cache)
    reader = PartsReader(parsed, environ, backends_file, publish_revision)
    return plan_training(reader, spec_path, limit)


def plan_training(reader: PartsReader, spec_path: Path, limit: int | None = None) -> LoadedSpec:
    """Make the plan of a training run of a spec and what it refers to."""
    parsed = reader.parsed
    spec = parsed.spec
    needed: tuple[SplitName, ...] = SPLITS if spec.evaluation.eval_test else ("train", "val")
    parts = reader.read(Wanted(("target", "optimizer"), needed, limit))
    plan = RunPlan(
        name=run_name(parsed, spec_path),
        env=spec.env,
        settings=spec.settings,
        skill=parts.skill.text,
        memory=parts.memory,
        files=parts.skill.files,
        splits=parts.tasks.splits,
        templates=parts.templates,
        judge_versions=_judge_versions(parts.tasks.splits),
        backends=parts.uses,
        budget=spec.budget,
    )
    warnings = [
        *unused_settings(parsed),
        *unused_stages(parsed),
        *no_room(plan),
        *never_significant(plan),
    ]
    return _loaded(plan, parsed, spec_path, parts, warnings, _findings(parsed, plan.splits))


def load_eval_plan(  # noqa: PLR0913 - every option a command hands down
    spec_path: Path,
    *,
    skill_path: Path | None = None,
    memory_path: Path | None = None,
    split: str = "test",
    backends_file: Path | None = None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    limit: int | None = None,
    cache: str | None = None,
    publish_revision: PublishRevision,
) -> LoadedSpec:
    """Load a measurement of the documents (the spec's, or others) on one split.

    The plan holds only what a measurement depends on: the target, one split, one template.
    """
    measured = split_named(split)
    if measured is None:
        raise ConfigError(f"--split: {unknown_split(split)}")
    parsed = _parse(spec_path, overrides, cache)
    written = parsed.spec.evaluation
    settings = Evaluation(samples=written.samples, min_coverage=written.min_coverage)
    reader = PartsReader(parsed, environ, backends_file, publish_revision)
    parts = reader.read(Wanted(("target",), (measured,), limit, skill_path, memory_path))
    plan = _measurement(parsed, spec_path, parts, "eval", measured, settings)
    return _loaded(plan, parsed, spec_path, parts)


def load_aa_plan(  # noqa: PLR0913 - every option a command hands down
    spec_path: Path,
    *,
    arms: int = _FEWEST_ARMS,
    skill_path: Path | None = None,
    backends_file: Path | None = None,
    environ: Mapping[str, str],
    overrides: Sequence[str] = (),
    limit: int | None = None,
    cache: str | None = None,
    publish_revision: PublishRevision,
) -> LoadedSpec:
    """Load `arms` measurements of one document on val, as the gate would score them.

    Each arm has samples of its own, so that nothing is compared with itself.
    """
    if not _FEWEST_ARMS <= arms <= _MOST_ARMS:
        raise ConfigError(f"--arms: {arms!r} does not fit; give {_FEWEST_ARMS} to {_MOST_ARMS}")
    parsed = _parse(spec_path, overrides, cache)
    written = parsed.spec.evaluation
    settings = Evaluation(
        samples=written.samples,
        min_coverage=written.min_coverage,
        gate_metric=written.gate_metric,
        gate_mixed_weight=written.gate_mixed_weight,
        significance=written.significance,
        no_regression=written.no_regression,
    )
    reader = PartsReader(parsed, environ, backends_file, publish_revision)
    parts = reader.read(Wanted(("target",), ("val",), limit, skill_path))
    plan = _measurement(parsed, spec_path, parts, "aa", "val", settings)
    return _loaded(plan.model_copy(update={"arms": arms}), parsed, spec_path, parts)


def _measurement(
    parsed: ParsedSpec,
    spec_path: Path,
    parts: Parts,
    mode: Mode,
    split: SplitName,
    settings: Evaluation,
) -> RunPlan:
    splits = Splits(**{split: parts.tasks.splits.of(split)})
    suffix = f"-{mode}"
    return RunPlan(
        name=run_name(parsed, spec_path)[: _MAX_NAME_CHARS - len(suffix)] + suffix,
        mode=mode,
        eval_split=split if mode == "eval" else None,
        env=parsed.spec.env,
        settings=Settings(evaluation=settings, cache=parsed.spec.cache),
        skill=parts.skill.text,
        memory=parts.memory,
        files=parts.skill.files,
        splits=splits,
        templates={name: parts.templates[name] for name in _templates(splits)},
        judge_versions=_judge_versions(splits),
        backends=parts.uses,
        budget=parsed.spec.budget,
    )


def _parse(spec_path: Path, overrides: Sequence[str], cache: str | None) -> ParsedSpec:
    if cache is not None and cache not in _CACHE_MODES:
        raise ConfigError(f"--cache: {cache!r} is not one of {', '.join(_CACHE_MODES)}")
    try:
        document = load_layers(spec_path)
    except OSError as error:
        raise ConfigError(unusable_path(error)) from error
    document = apply_overrides(document, overrides)
    if cache is not None:
        document = apply_overrides(document, [f"cache={cache}"], Origin("--cache"))
    return parse_spec(document)


def run_name(parsed: ParsedSpec, spec_path: Path) -> str:
    """Give the name of a spec's run: written in it, else after its folder or file."""
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


def _templates(splits: Splits) -> tuple[str, ...]:
    """Name the templates that a measurement on these tasks takes."""
    judged = (_RUBRIC_TEMPLATE,) if needs_model_judge(splits) else ()
    return (_ATTEMPT_TEMPLATE, *judged)


def _judge_versions(splits: Splits) -> dict[str, int]:
    """The versions of the judges that these tasks use; others cannot change the outcome."""
    # Imported here: the operations of rules bring a regular expression engine with them.
    from skillopt.judges import judge_versions  # noqa: PLC0415

    used = {item.judge.kind for split in SPLITS for item in splits.of(split)}
    return {kind: version for kind, version in judge_versions().items() if kind in used}


def _findings(parsed: ParsedSpec, splits: Splits) -> list[str]:
    from skillopt.config.lint import lint  # noqa: PLC0415 - for the same reason

    where = parsed.document.origin(("tasks",))
    return [f"{where}: tasks: {finding}" for finding in lint(splits)]


def _loaded(
    plan: RunPlan,
    parsed: ParsedSpec,
    spec_path: Path,
    parts: Parts,
    warnings: Sequence[str] = (),
    lint: Sequence[str] = (),
) -> LoadedSpec:
    target = parts.backends[plan.backends["target"].backend]
    items = [item for split in SPLITS for item in plan.splits.of(split)]
    where = parsed.document.origin(("tasks",))
    check_attachments(items, target, where)
    check_agent_tools(items, target, where)
    return LoadedSpec(
        plan=plan.model_copy(
            update={
                **payers(parsed.spec, parts.catalogue.environ),
                "priority": parsed.spec.priority,
            }
        ),
        backends=parts.backends,
        spec_path=spec_path,
        skill_path=parts.skill.path,
        warnings=[*warnings, *skill_warnings(parts.skill), *parts.tasks.warnings, *lint],
        lint=list(lint),
        explained=explain(
            parsed,
            name=run_name(parsed, spec_path),
            ratio=parts.tasks.ratio,
            catalogue=parts.catalogue,
            backends=parts.backends,
            uses=parts.uses,
        ),
        labels=dict(parsed.spec.labels),
        notify=parsed.spec.notify,
        attachments={sha256: parts.tasks.attachments[sha256] for sha256 in plan.splits.attachments},
        key_variables=parts.catalogue.key_variables(),
    )

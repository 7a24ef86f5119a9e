"""A run that a program gives as values instead of a spec file, checked by the same rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skillopt.config.given_tasks import GivenTasks, read_given_tasks
from skillopt.config.load import LoadedSpec, plan_training
from skillopt.config.origins import KeyPath, Origin
from skillopt.config.parts import PartsReader, Wanted
from skillopt.config.plain_values import plain
from skillopt.config.published import PublishRevision
from skillopt.config.schema import parse_spec
from skillopt.config.skill_file import MAX_BYTES, SkillSource
from skillopt.config.tasks import LoadedTasks
from skillopt.config.yaml_source import Document
from skillopt.domain.item import FunctionJudge, SplitName
from skillopt.errors import ConfigError

#: What stands for a file's path where a text was given.
TEXT = "(a text)"
_CALL = Origin("optimize()")
_SETTINGS = Origin("settings")
#: Keys of a spec file that are arguments of their own here.
_ARGUMENTS = ("name", "skill", "memory", "prompts", "tasks", "split", "model", "judge", "backends",
              "cache")  # fmt: skip
_LONGEST_PATH = 1_000


@dataclass(frozen=True)
class GivenRun:
    """What a run is made of; texts are documents, paths are files that hold one."""

    skill: str | Path
    model: str | Mapping[str, Any]
    train: Iterable[Mapping[str, Any]]
    val: Iterable[Mapping[str, Any]]
    test: Iterable[Mapping[str, Any]] = ()
    #: For tasks without one; a function is given by name, for no task yet.
    judge: Mapping[str, Any] | FunctionJudge | None = None
    backends: Mapping[str, Any] | Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    memory: str | Path | None = None
    prompts: Path | None = None
    name: str = "optimize"
    cache: str | None = None


def load_given(
    given: GivenRun, *, environ: Mapping[str, str], publish_revision: PublishRevision
) -> LoadedSpec:
    """Load a training run; raises InputError with every problem found, one per line."""
    # Looked at twice, and it may be an iterator.
    tests = list(given.test) if _is_iterable(given.test) else given.test
    parsed = parse_spec(_document(given, is_tested=bool(tests)))
    catalogue = given.backends if isinstance(given.backends, Path) else None
    records: dict[SplitName, Any] = {"train": given.train, "val": given.val, "test": tests or ()}
    reader = _GivenParts(parsed, environ, catalogue, publish_revision, given, records)
    return plan_training(reader, Path(str(_CALL)))


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _document(given: GivenRun, *, is_tested: bool) -> Document:
    """Write the spec down as a file would, each value with the argument it came from."""
    settings = plain(_mapping(given.settings, "settings"), _SETTINGS, error=ConfigError)
    for key in settings:
        if key in _ARGUMENTS:
            fix = "give train, val and test" if key in ("tasks", "split") else f"give {key}=…"
            raise ConfigError(f"{_SETTINGS}: {key} is an argument of its own; {fix}")
    evaluation = settings.setdefault("evaluation", {})
    if not is_tested and isinstance(evaluation, dict):
        evaluation.setdefault("eval_test", False)
    model = {"target": given.model} if isinstance(given.model, str) else given.model
    arguments: dict[str, Any] = {
        "name": given.name,
        "skill": _label(given.skill),
        "tasks": "(lists of records)",
        "model": _mapping(model, "model"),
    }
    if given.memory is not None:
        arguments["memory"] = _label(given.memory)
    if given.prompts is not None:
        arguments["prompts"] = str(given.prompts)
    if given.cache is not None:
        arguments["cache"] = given.cache
    if given.backends is not None and not isinstance(given.backends, Path):
        arguments["backends"] = _mapping(given.backends, "backends")
    if given.judge is not None and not isinstance(given.judge, FunctionJudge):
        arguments["judge"] = _mapping(given.judge, "judge")
    data = {**plain(arguments, _CALL, error=ConfigError), **settings}
    origins = {path: _SETTINGS if path[0] in settings else _CALL for path in _paths(data, ())}
    return Document(_CALL, data, origins)


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    other = {"backends": " or a Path", "model": " or the name of a backend"}.get(name, "")
    raise ConfigError(f"{_CALL}: {name}: {value!r} does not fit; give a dict{other}")


def _paths(value: object, path: KeyPath) -> Iterable[KeyPath]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _paths(part, (*path, key))


def _label(written: object) -> str:
    return str(written) if isinstance(written, Path) else TEXT


@dataclass(frozen=True)
class _GivenParts(PartsReader):
    """Takes documents and tasks from what was given, everything else as a spec's."""

    given: GivenRun
    records: Mapping[SplitName, Any]

    def _skill(self, other: Path | None) -> SkillSource:
        if isinstance(self.given.skill, Path):
            return super()._skill(other)
        text = _document_text(self.given.skill, "skill")
        if not text.strip():
            raise ConfigError(f"{_CALL}: skill: the text is empty; write at least a sentence")
        return SkillSource(Path(TEXT), text)

    def _memory(self, other: Path | None) -> str | None:
        if self.given.memory is None or isinstance(self.given.memory, Path):
            return super()._memory(other)
        return _document_text(self.given.memory, "memory")

    def _tasks(self, wanted: Wanted) -> LoadedTasks:
        spec = self.parsed.spec
        judge = self.given.judge if isinstance(self.given.judge, FunctionJudge) else spec.judge
        return read_given_tasks(
            GivenTasks(
                records=self.records,
                judge=judge,
                fields=spec.fields,
                where_fields=_SETTINGS,
                seed=spec.split.seed,
                needed=wanted.splits,
                limits=self._limits(),
            )
        )


def _document_text(text: object, name: str) -> str:
    """Check a document that was given as text; one that names a file is meant as its path."""
    if not isinstance(text, str):
        raise ConfigError(f"{_CALL}: {name}: {text!r} is neither a text nor a Path; give one")
    if "\n" not in text and 0 < len(text) < _LONGEST_PATH and "\0" not in text:
        try:
            is_path = Path(text).exists()
        except OSError:
            is_path = False  # longer than a name may be
        if is_path:
            raise ConfigError(
                f"{_CALL}: {name}: {text!r} is taken as the document's own text; give "
                f"Path({text!r}) to name a file"
            )
    size = len(plain(text, _CALL, error=ConfigError, path=(name,)).encode())
    if size > MAX_BYTES:
        raise ConfigError(f"{_CALL}: {name}: has {size} bytes; at most {MAX_BYTES} are allowed")
    if "\0" in text:
        raise ConfigError(f"{_CALL}: {name}: holds a zero byte; give plain text")
    return text

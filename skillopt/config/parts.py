"""What a spec refers to: skill, memory, tasks, prompt templates, backends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillopt.config.answer_judges import Told
from skillopt.config.catalogue import Catalogue, open_catalogue, require_prices
from skillopt.config.entries import PUBLISHED_REVISION
from skillopt.config.judge_input import read_judge
from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Origin, Problems
from skillopt.config.prompt_folder import read_templates
from skillopt.config.protected import check_protected
from skillopt.config.schema import ParsedSpec
from skillopt.config.skill_file import SkillSource, read_memory, read_skill_source
from skillopt.config.tasks import LoadedTasks, TaskSource, load_tasks
from skillopt.domain.backend import Backend
from skillopt.domain.item import SplitName
from skillopt.domain.skill_folder import SKILL_FILE
from skillopt.domain.usage import Role
from skillopt.errors import ConfigError

#: Asks a simulated backend for the id of its behaviour.
PublishRevision = Callable[[Backend], str]


@dataclass(frozen=True)
class Wanted:
    """Which parts a plan needs; documents named here take the place of the spec's."""

    roles: Mapping[Role, str]
    splits: tuple[SplitName, ...]
    limit: int | None = None
    skill: Path | None = None
    memory: Path | None = None


@dataclass(frozen=True)
class Parts:
    skill: SkillSource
    memory: str | None
    templates: dict[str, str]
    tasks: LoadedTasks
    catalogue: Catalogue
    #: The backends that play a role, by name.
    backends: dict[str, Backend]


@dataclass(frozen=True)
class PartsReader:
    """Reads what a spec refers to; the problems of all parts are raised together."""

    parsed: ParsedSpec
    environ: Mapping[str, str]
    backends_file: Path | None
    publish_revision: PublishRevision

    def read(self, wanted: Wanted) -> Parts:
        problems = Problems()
        skill = problems.attempt(lambda: self._skill(wanted.skill))
        memory = problems.attempt(lambda: self._memory(wanted.memory))
        templates = problems.attempt(self._templates)
        catalogue = problems.attempt(self._catalogue)
        backends = None
        if catalogue is not None:
            backends = problems.attempt(lambda: self._backends(catalogue, wanted.roles))
        problems.attempt(self._check_default_judge)
        tasks = problems.attempt(lambda: self._tasks(wanted))
        if skill is not None:
            problems.attempt(lambda: self._check_tasks_outside(skill))
        if tasks is not None and "optimizer" in wanted.roles:
            problems.attempt(lambda: self._check_protected(tasks))
        problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
        assert skill is not None
        assert templates is not None
        assert tasks is not None
        assert catalogue is not None
        assert backends is not None
        return Parts(skill, memory, templates, tasks, catalogue, backends)

    def _where(self, *path: str) -> Origin:
        return self.parsed.document.origin(path)

    def _skill(self, other: Path | None) -> SkillSource:
        if other is not None:
            return read_skill_source(other, Origin("--skill"))
        where = self._where("skill")
        return read_skill_source(where.path(self.parsed.spec.skill), where)

    def _memory(self, other: Path | None) -> str | None:
        """Read the memory document; one that evolves starts empty if there is none yet."""
        if other is not None:
            return read_memory(other, Origin("--memory"))
        written = self.parsed.spec.memory
        if written is not None:
            where = self._where("memory")
            self._refuse_skill_as_memory(where.path(written), where)
            return read_memory(where.path(written), where)
        return None if self.parsed.spec.evolve == "skill" else ""

    def _refuse_skill_as_memory(self, memory: Path, where: Origin) -> None:
        """One file cannot be both: a target would see it twice, and each copy would change."""
        skill = self._where("skill").path(self.parsed.spec.skill)
        if memory.resolve() in {skill.resolve(), (skill / SKILL_FILE).resolve()}:
            raise ConfigError(
                f"{where}: memory: {str(memory)!r} is the skill itself; name another document, "
                "or leave it out"
            )

    def _templates(self) -> dict[str, str]:
        written, where = self.parsed.spec.prompts, self._where("prompts")
        return read_templates(None if written is None else where.path(written), where)

    def _check_default_judge(self) -> None:
        judge = self.parsed.spec.judge
        if judge is None:
            return
        _, faults = read_judge(judge, Told(is_default=True))
        problems = Problems()
        for fault in faults:
            problems.add(self._where("judge"), fault)
        problems.raise_any(ConfigError)

    def _check_tasks_outside(self, skill: SkillSource) -> None:
        """Keep the answers out of the skill: all that lies in its folder is part of it."""
        where = self._where("tasks")
        tasks, folder = where.path(self.parsed.spec.tasks), skill.path.parent
        if skill.files is not None and tasks.resolve().is_relative_to(folder.resolve()):
            raise ConfigError(
                f"{where}: tasks: {str(tasks)!r} lies in the skill's own folder {str(folder)!r}, "
                f"so the tasks would be part of the skill; move them out, or name "
                f"{str(skill.path)!r} to train that file alone"
            )

    def _check_protected(self, tasks: LoadedTasks) -> None:
        entries = self.parsed.spec.evaluation.no_regression
        check_protected(entries, tasks.uncut, self._where("evaluation", "no_regression"))

    def _catalogue(self) -> Catalogue:
        return open_catalogue(
            self.environ, spec=self.parsed.document, backends_file=self.backends_file
        )

    def _backends(self, catalogue: Catalogue, roles: Mapping[Role, str]) -> dict[str, Backend]:
        spec = self.parsed.spec
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

    def _tasks(self, wanted: Wanted) -> LoadedTasks:
        spec = self.parsed.spec
        where = self._where("tasks")
        return load_tasks(
            TaskSource(
                path=where.path(spec.tasks),
                where=where,
                ratio=spec.split.ratio,
                where_ratio=self._where("split", "ratio"),
                seed=spec.split.seed,
                fields=spec.fields,
                where_fields=self._where("fields"),
                judge=spec.judge,
                needed=wanted.splits,
                limits=self._limits(),
                limit=wanted.limit,
            )
        )

    def _limits(self) -> dict[SplitName, int | None]:
        evaluation = self.parsed.spec.evaluation
        return {"val": evaluation.val_limit, "test": evaluation.test_limit}

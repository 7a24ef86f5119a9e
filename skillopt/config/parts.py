"""What a spec refers to: skill, memory, tasks, prompt templates, backends."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from skillopt.config.answer_judges import Told
from skillopt.config.catalogue import Catalogue, open_catalogue, require_prices
from skillopt.config.judge_input import read_judge
from skillopt.config.origins import MAX_PROBLEMS_SHOWN, Origin, Problems
from skillopt.config.prompt_folder import read_templates
from skillopt.config.protected import check_protected
from skillopt.config.published import PublishRevision, published
from skillopt.config.role_params import ParamsReader
from skillopt.config.role_section import RoleSection
from skillopt.config.roles import UseReader, backend_names, needs_model_judge
from skillopt.config.schema import ParsedSpec
from skillopt.config.skill_file import SkillSource, read_memory, read_skill_source
from skillopt.config.tasks import LoadedTasks, TaskSource, load_tasks
from skillopt.domain.backend import Backend, BackendUse
from skillopt.domain.item import SplitName
from skillopt.domain.skill_folder import SKILL_FILE
from skillopt.domain.usage import Role
from skillopt.errors import ConfigError


@dataclass(frozen=True)
class Wanted:
    """Which parts a plan needs; documents named here take the place of the spec's."""

    roles: tuple[Role, ...]
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
    #: How each role of the plan uses its backend; the judge's only if a task asks a model.
    uses: dict[Role, BackendUse]


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
        # Tasks decide which roles there are, but many of them may be wrong: they are told last.
        of_tasks = Problems()
        of_tasks.attempt(self._check_default_judge)
        tasks = of_tasks.attempt(lambda: self._tasks(wanted))
        used = None
        if catalogue is not None:
            roles = _roles(wanted, tasks)
            used = problems.attempt(lambda: self._backends(catalogue, roles))
        problems.attempt(lambda: of_tasks.raise_any(ConfigError))
        if skill is not None:
            problems.attempt(lambda: self._check_tasks_outside(skill))
        if tasks is not None and "optimizer" in wanted.roles:
            problems.attempt(lambda: self._check_protected(tasks))
        problems.raise_any(ConfigError, at_most=MAX_PROBLEMS_SHOWN)
        assert skill is not None
        assert templates is not None
        assert tasks is not None
        assert catalogue is not None
        assert used is not None
        return Parts(skill, memory, templates, tasks, catalogue, *used)

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

    def _backends(
        self, catalogue: Catalogue, roles: Collection[Role]
    ) -> tuple[dict[str, Backend], dict[Role, BackendUse]]:
        """Give the backends of roles, by name, and how each role uses its own.

        A judge's backend that no task needs makes no call, but what is written of it must fit.
        """
        spec = self.parsed.spec
        problems = Problems()
        reader = UseReader(ParamsReader(self.parsed.document, self.environ, problems))
        resolved: dict[str, Backend | None] = {}
        uses: dict[Role, BackendUse] = {}
        has_judge = spec.model.judge is not None or "judge" in self.parsed.roles
        for role, name in backend_names(spec).items():
            if role not in roles and not (role == "judge" and has_judge):
                continue
            if name not in resolved:
                resolve = partial(self._resolve, catalogue, name, role, is_used=role in roles)
                resolved[name] = problems.attempt(resolve)
            backend = resolved[name]
            if backend is not None:
                uses[role] = reader.read(role, backend, self.parsed.roles.get(role, RoleSection()))
        problems.raise_any(ConfigError)
        used = {role: use for role, use in uses.items() if role in roles}
        names = {use.backend for use in used.values()}
        backends = {name: one for name, one in resolved.items() if one and name in names}
        require_prices(backends.values(), max_usd=spec.budget.max_usd, prices=catalogue.prices)
        return backends, used

    def _resolve(self, catalogue: Catalogue, name: str, role: Role, *, is_used: bool) -> Backend:
        where, key = self._where("model", role), f"model.{role}"
        backend = catalogue.resolve(name, where=where, key=key)
        return self._published(backend, catalogue) if is_used else backend

    def _published(self, backend: Backend, catalogue: Catalogue) -> Backend:
        """Ask a backend what it is; an answer that fails is located in the catalogue."""
        try:
            return published(backend, self.publish_revision)
        except ConfigError as error:
            where = catalogue.origin(backend.name)
            raise ConfigError(f"{where}: backends.{backend.name}: {error}") from error

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


def _roles(wanted: Wanted, tasks: LoadedTasks | None) -> tuple[Role, ...]:
    """Add the judge to the roles of a plan if a task needs a model to be judged."""
    if tasks is None or not needs_model_judge(tasks.splits, wanted.splits):
        return wanted.roles
    return (*wanted.roles, "judge")

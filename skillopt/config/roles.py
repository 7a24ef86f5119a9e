"""Which backend plays which role of a run, and with which parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.config.origins import KeyPath
from skillopt.config.role_params import ParamsReader
from skillopt.config.role_section import MODEL, PARAMS, STAGE_GROUPS, STAGES, RoleSection
from skillopt.config.schema import SpecFile
from skillopt.domain.backend import Backend, BackendUse, CallUse, Params
from skillopt.domain.item import SPLITS, SplitName, Splits, asks_model
from skillopt.domain.jobs import OPTIMIZE_STAGES, OptimizeStage
from skillopt.domain.usage import Role


def backend_names(spec: SpecFile) -> dict[Role, str]:
    """Name the backend of every role: one that is not named takes its neighbour's.

    It takes only the backend, with the catalogue's parameters: what a target is told to do
    differently is not meant for the others.
    """
    optimizer = spec.model.optimizer or spec.model.target
    return {
        "target": spec.model.target,
        "optimizer": optimizer,
        "judge": spec.model.judge or optimizer,
    }


def needs_model_judge(splits: Splits, of: Sequence[SplitName] = SPLITS) -> bool:
    """Whether any task of these splits is judged by a model."""
    return any(asks_model(item.judge) for split in of for item in splits.of(split))


@dataclass(frozen=True)
class UseReader:
    """Reads how a role uses its backend; what is wrong joins the problems of `params`."""

    params: ParamsReader

    def read(self, role: Role, backend: Backend, section: RoleSection) -> BackendUse:
        path: KeyPath = (MODEL, role)
        params = self.params.changed(backend, backend.params, section.params, (*path, PARAMS))
        stages = {}
        for stage in OPTIMIZE_STAGES:
            changed = self._at(stage, backend, params, section)
            if changed != params:
                stages[stage] = _call_use(backend, changed)
        use = _call_use(backend, params)
        is_agent = backend.agent is not None
        return BackendUse(
            **dict(use), role=role, backend=backend.name, agent=is_agent, stages=stages
        )

    def _at(
        self, stage: OptimizeStage, backend: Backend, params: Params, section: RoleSection
    ) -> Params:
        """Give the parameters of a stage: its group's changes, then its own, over the role's."""
        groups = [name for name, members in STAGE_GROUPS.items() if stage in members]
        for name in (*groups, stage):
            written = section.stages.get(name)
            if written:
                path: KeyPath = (MODEL, "optimizer", STAGES, name)
                params = self.params.changed(backend, params, written, path)
        return params


def _call_use(backend: Backend, params: Params) -> CallUse:
    if params == backend.params:
        return CallUse(fingerprint=backend.fingerprint, own=params)
    return CallUse(fingerprint=backend.using(params).fingerprint, params=params)

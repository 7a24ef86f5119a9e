"""The runs of a state: what their plans say of the jobs whose results are stored."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from producer.stored_plan import stored_plan
from producer.submit import load_state
from skillopt.domain.item import SPLITS, Item
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import ENDED, RunState
from skillopt.errors import InputError, StateCorrupt
from skillopt.loop.jobs import JobFactory
from skillopt.state.ports import RunInfo, State

LISTED_RUNS = 8


@dataclass(frozen=True)
class KnownRun:
    """A run whose plan is stored."""

    run: str
    plan: RunPlan

    @cached_property
    def factory(self) -> JobFactory:
        return JobFactory(self.plan, self.run)

    @cached_property
    def items(self) -> dict[str, Item]:
        """The tasks by the hash of what the target sees of them."""
        plan = self.plan
        items = [item for split in SPLITS for item in plan.splits.of(split)]
        specs = (self.factory.rollout(plan.initial_key, plan.initial, item, 0) for item in items)
        return {spec.prompt: item for spec, item in zip(specs, items, strict=True)}

    @property
    def backends(self) -> dict[str, str]:
        """The names of backends by their fingerprints."""
        return {
            fingerprint: use.backend
            for use in self.plan.backends.values()
            for fingerprint in (
                use.fingerprint,
                *(other.fingerprint for other in use.stages.values()),
            )
        }


class KnownRuns:
    """Every run of a state; plans are large, so each is read once and only if it is asked for."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.infos: dict[str, RunInfo] = {info.run: info for info in state.runs.all()}
        self._known: dict[str, KnownRun | None] = {}

    @property
    def unfinished(self) -> list[str]:
        """Runs, paused ones too, that still go by what is in their ledgers."""
        return [run for run, info in self.infos.items() if info.status not in ENDED]

    def get(self, run: str) -> KnownRun | None:
        """Give a run; None if it is not known here, or its plan is not stored any more."""
        if run not in self._known:
            self._known[run] = self._read(run)
        return self._known[run]

    def among(self, runs: Iterable[str]) -> list[KnownRun]:
        found = (self.get(run) for run in dict.fromkeys(runs))
        return [one for one in found if one is not None]

    def find(self, reference: str) -> KnownRun:
        """Find a run as `id_of` does; raises InputError also if its plan is not stored any more."""
        run = self.id_of(reference)
        known = self.get(run)
        if known is None:
            raise InputError(
                f"the plan of run {run!r} is not stored any more: give the command that started "
                "it again, which stores it anew; `skillopt show` tells what its folder has"
            )
        return known

    def id_of(self, reference: str) -> str:
        """Give the id of a run that is meant by its id, name, unique prefix of its id, folder, or
        "last" (the newest).

        Raises InputError, with the candidates, if no run or more than one is meant.
        """
        if (Path(reference) / "plan.json").is_file():
            reference = Path(reference).resolve().name
        runs = list(self.infos)
        if not runs:
            raise InputError(
                f"no run {reference!r}: there is none here; start one first, or put one "
                "back with `skillopt restore RUN_DIR`"
            )
        named = [run for run in runs if run == reference]
        named = named or [run for run in runs if self.infos[run].meta.get("name") == reference]
        named = named or [run for run in runs if reference and run.startswith(reference)]
        if reference == "last":
            named = runs[:1]
        if len(named) != 1:
            what = f"{reference!r} means several runs" if named else f"no run {reference!r} here"
            listed = ", ".join((named or runs)[:LISTED_RUNS])
            raise InputError(f"{what}; give the id of one: {listed}")
        return named[0]

    def state_of(self, known: KnownRun) -> RunState:
        return load_state(self._state, known.plan, known.run)

    def _read(self, run: str) -> KnownRun | None:
        info = self.infos.get(run)
        if info is None:
            return None
        try:
            plan = stored_plan(info, self._state)
        except StateCorrupt:
            return None  # damaged, or written by another version: as good as gone
        return None if plan is None else KnownRun(run, plan)

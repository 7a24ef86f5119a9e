"""The plan a run goes by: from the state, or from the run's folder once that copy has lapsed."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import ValidationError

from skillopt import __version__
from skillopt.domain.plan import RunPlan
from skillopt.errors import InputError, NotUnderstood, StateCorrupt
from skillopt.state.ports import Lead, RunInfo, State

#: Gives the plan in a run's folder; raises InputError if there is none that can be used.
KeptPlan = Callable[[], RunPlan]


def stored_plan(info: RunInfo, state: State) -> RunPlan | None:
    """Read a run's plan; None if it is not stored any more.

    Raises NotUnderstood if another version wrote it, StateCorrupt if it is that of another run.
    """
    sha = pinned_plan(info)
    stored = state.blobs.get([sha]).get(sha)
    return None if stored is None else read_plan(info.run, stored)


def pinned_plan(info: RunInfo) -> str:
    """Give the hash under which a run's plan is stored."""
    try:
        return info.meta["plan"]
    except KeyError as error:
        raise StateCorrupt(
            f"run {info.run!r} does not say where its plan is stored; `skillopt restore RUN_DIR` "
            "rebuilds it from its folder"
        ) from error


def plan_for(lead: Lead, state: State, kept: KeptPlan | None = None) -> RunPlan:
    """Read the plan of a run that is about to be driven.

    A copy in the state lasts for some weeks after the run was last looked at. Once it is gone,
    the plan in the run's folder is stored anew and pinned in its place.

    Raises StateCorrupt if neither can be had, NotUnderstood if another version wrote it.
    """
    run = lead.run
    info = state.runs.info(run)
    if info is None:
        raise StateCorrupt(f"run {run!r} is not stored; give its command again")
    plan = stored_plan(info, state)
    if plan is not None:
        return plan
    plan = _from_folder(run, kept)
    [sha] = state.blobs.put([plan.model_dump_json().encode()])
    if sha != pinned_plan(info):
        state.archive.pin_plan(lead, sha)
    return plan


def pin_if_lapsed(lead: Lead, state: State, stored_anew: str) -> None:
    """Pin a plan that was just stored if the one that the run goes by has lapsed.

    They differ in nothing that could change a decision: a run's id is made of all that can.
    """
    info = state.runs.info(lead.run)
    pinned = None if info is None else info.meta.get("plan")
    if pinned == stored_anew or (pinned is not None and state.blobs.get([pinned])):
        return
    state.archive.pin_plan(lead, stored_anew)


def read_plan(run: str, stored: bytes) -> RunPlan:
    """Read the stored plan of a run; raises NotUnderstood, or StateCorrupt for another run's."""
    try:
        plan = RunPlan.model_validate_json(stored)
    except ValidationError as error:
        raise NotUnderstood(
            f"the plan of run {run!r} is not understood by version {__version__}: "
            f"{error.error_count()} problem(s); another version wrote it: continue the run with "
            "that one, or upgrade this one"
        ) from error
    if plan.run_id != run:
        raise StateCorrupt(
            f"what is stored as the plan of run {run!r} is that of {plan.run_id!r}; remove one of "
            "them and `skillopt restore RUN_DIR`"
        )
    return plan


def _from_folder(run: str, kept: KeptPlan | None) -> RunPlan:
    gone = f"the plan of run {run!r} is not stored any more"
    if kept is None:
        raise StateCorrupt(f"{gone}; give its command again, which stores it anew")
    try:
        plan = kept()
    except InputError as error:
        raise StateCorrupt(
            f"{gone}, and its folder cannot help: {error}; give its command again, which stores it "
            "anew"
        ) from error
    if plan.run_id != run:
        raise StateCorrupt(
            f"{gone}, and its folder holds run {plan.run_id!r}; give its command again, which "
            "stores it anew"
        )
    return plan

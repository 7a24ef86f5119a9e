"""Creates a run, or finds that it exists and lets it go on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from producer.attachments import KeptAttachments
from producer.caps import caps_of
from producer.facts import LedgerFacts
from producer.requests import PATIENCE, WAIT_S, Retune
from producer.run_meta import meta_of
from producer.stored_log import folded
from producer.stored_plan import pin_if_lapsed, read_plan
from skillopt.domain.events import Event, RunCreated, encode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.domain.steering_events import LeftOut, Resumed, Retuned
from skillopt.errors import Fenced, QuotaExceeded, StaleVersion
from skillopt.state.ports import Lead, State


@dataclass(frozen=True)
class Submission:
    run: str
    #: "attached": a coordinator is at work on it already.
    what: Literal["created", "resumed", "attached", "finished"]


def submit(
    state: State,
    plan: RunPlan,
    *,
    meta: Mapping[str, str],
    wait: Callable[[float], object],
    leave_out: Mapping[str, str] = MappingProxyType({}),
    attachments: KeptAttachments | None = None,
    patience: int = PATIENCE,
) -> Submission:
    """Create the run of a plan; if it exists, continue it under the plan's budget and priority,
    also if it was cancelled. Raises QuotaExceeded if its owner may have no further open run.

    `leave_out`: tasks (and why) that no comparison counts from now on. `attachments`: the run's
    own copies of what its tasks bring with them, stored before anybody sees the run.
    """
    run = plan.run_id
    _require_room(state, plan)
    if attachments is not None:
        attachments.ensure(plan.splits.attachments)
    [plan_hash] = state.blobs.put([plan.model_dump_json().encode()])
    created = RunCreated(run=run, name=plan.name, plan=plan_hash, skill=plan.initial_key)
    # Before any coordinator sees the run.
    state.budgets.join(run, owner=plan.owner, team=plan.team)
    state.budgets.set_caps(run, caps_of(plan.budget))
    first: list[Event] = [created, *([LeftOut(items=dict(leave_out))] if leave_out else [])]
    is_new = state.runs.create(
        run,
        meta={**meta, **meta_of(plan), "plan": plan_hash},
        events=[encode_event(event) for event in first],
        status="running",
    )
    if is_new:
        return Submission(run, "created")
    begun_as = _begun_as(state, plan)
    for _ in range(patience):
        known = load_state(state, begun_as, run)
        if known.finished:
            return Submission(run, "finished")
        lead = state.runs.lead(run, f"submit:{uuid.uuid4().hex}")
        if lead is None:
            if known.status == "running":
                _retune(state, known, plan)
                return Submission(run, "attached")
            wait(WAIT_S)  # the coordinator that paused or ended it is about to let go
            continue
        try:
            pin_if_lapsed(lead, state, plan_hash)
            _resume(state, lead, begun_as, plan, leave_out)
        except (Fenced, StaleVersion):
            continue  # somebody else moved it: look again
        finally:
            state.runs.resign(lead)
        return Submission(run, "resumed")
    return Submission(run, "attached")


def _require_room(state: State, plan: RunPlan) -> None:
    """Refuse a new run before anything of it is stored; the state refuses it again if need be."""
    quota = state.quotas.get(plan.owner)
    is_full = quota.max_runs is not None and quota.runs >= quota.max_runs
    if quota.max_runs is not None and is_full and state.runs.info(plan.run_id) is None:
        raise QuotaExceeded(plan.owner, quota.runs, quota.max_runs)


def _begun_as(state: State, plan: RunPlan) -> RunPlan:
    """Give the plan that a run was created with: its budget and priority may be others than this
    one's, all that makes the run is the same.
    """
    info = state.runs.info(plan.run_id)
    sha = "" if info is None else info.meta.get("plan", "")
    stored = state.blobs.get([sha]).get(sha) if sha else None
    return plan if stored is None else read_plan(plan.run_id, stored)


def _retune(state: State, known: RunState, plan: RunPlan) -> None:
    """Ask the coordinator that is at work on a run for the plan's budget and priority."""
    changes: dict[str, object] = {
        name: value
        for name, value in plan.budget.model_dump().items()
        if getattr(known.budget, name) != value
    }
    if known.priority != plan.priority:
        changes["priority"] = plan.priority
    if changes:
        state.requests.post(plan.run_id, Retune(changes=changes).model_dump_json())


def load_state(state: State, plan: RunPlan, run: str) -> RunState:
    return folded(plan, state.runs.log(run))


def _require_readable(state: State, run: str) -> None:
    """Raise StateCorrupt if ledger or meter of a run do not hold what its coordinator needs."""
    LedgerFacts(run, state.runs.ledger(run), state.results, state.blobs)
    state.budgets.spend(run)


def _resume(
    state: State, lead: Lead, begun_as: RunPlan, plan: RunPlan, leave_out: Mapping[str, str]
) -> None:
    """Let a run go on that is paused, or that was left by its coordinator.

    The event is due in both cases: it puts the budget into force, and it ends the time during
    which nobody worked on the run. A run that cannot be read (StateCorrupt) stays as it is.
    """
    entries = state.runs.log(lead.run)
    known = folded(begun_as, entries)
    _require_readable(state, lead.run)
    if known.finished:
        raise StaleVersion(f"run {lead.run!r} finished meanwhile")
    if known.given_up:
        state.board.retry(lead, list(known.given_up))
    fresh = {item: why for item, why in leave_out.items() if item not in known.left_out}
    events: list[Event] = [LeftOut(items=fresh)] if fresh else []
    if known.priority != plan.priority:
        events.append(
            Retuned(
                budget=known.budget,
                stop=known.stop,
                priority=plan.priority,
                window=known.window,
                changed=("priority",),
            )
        )
    events.append(Resumed(budget=plan.budget))
    state.runs.step(
        lead,
        version=len(entries),
        events=[encode_event(event) for event in events],
        status="running",
        open=True,
    )

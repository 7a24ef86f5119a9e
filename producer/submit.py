"""Creates a run, or finds that it exists and lets it go on."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from producer.attachments import KeptAttachments
from producer.facts import LedgerFacts
from producer.stored_log import folded
from producer.stored_plan import pin_if_lapsed
from skillopt.domain.events import Event, LeftOut, Resumed, RunCreated, encode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.domain.spec import Budget
from skillopt.domain.usage import MICRO
from skillopt.errors import Fenced, StaleVersion
from skillopt.state.ports import Caps, Lead, State

#: How often, and how long each time, a run's coordinator is waited for: longer than the lease of
#: one that was killed a moment ago.
PATIENCE, WAIT_S = 400, 0.05


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
    """Create the run of a plan; if it exists, continue it under the plan's budget.

    `leave_out`: tasks (and why) that no comparison counts from now on. `attachments`: the run's
    own copies of what its tasks bring with them, stored before anybody sees the run.
    """
    run = plan.run_id
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
        meta={**meta, "name": plan.name, "plan": plan_hash},
        events=[encode_event(event) for event in first],
        status="running",
    )
    if is_new:
        return Submission(run, "created")
    for _ in range(patience):
        known = load_state(state, plan, run)
        if known.finished:
            return Submission(run, "finished")
        lead = state.runs.lead(run, f"submit:{uuid.uuid4().hex}")
        if lead is None:
            if not known.paused:
                return Submission(run, "attached")
            wait(WAIT_S)  # the coordinator that paused it is about to let go
            continue
        try:
            pin_if_lapsed(lead, state, plan_hash)
            _resume(state, lead, plan, leave_out)
        except (Fenced, StaleVersion):
            continue  # somebody else moved it: look again
        finally:
            state.runs.resign(lead)
        return Submission(run, "resumed")
    return Submission(run, "attached")


def load_state(state: State, plan: RunPlan, run: str) -> RunState:
    return folded(plan, state.runs.log(run))


def caps_of(budget: Budget) -> Caps:
    usd = None if budget.max_usd is None else round(budget.max_usd * MICRO)
    return Caps(calls=budget.max_calls, tokens=budget.max_tokens, micro_usd=usd)


def _require_readable(state: State, run: str) -> None:
    """Raise StateCorrupt if ledger or meter of a run do not hold what its coordinator needs."""
    LedgerFacts(run, state.runs.ledger(run), state.results, state.blobs)
    state.budgets.spend(run)


def _resume(state: State, lead: Lead, plan: RunPlan, leave_out: Mapping[str, str]) -> None:
    """Let a run go on that is paused, or that was left by its coordinator.

    The event is due in both cases: it puts the budget into force, and it ends the time during
    which nobody worked on the run. A run that cannot be read (StateCorrupt) stays as it is.
    """
    entries = state.runs.log(lead.run)
    known = folded(plan, entries)
    _require_readable(state, lead.run)
    if known.finished:
        raise StaleVersion(f"run {lead.run!r} finished meanwhile")
    if known.given_up:
        state.board.retry(lead, list(known.given_up))
    fresh = {item: why for item, why in leave_out.items() if item not in known.left_out}
    events: list[Event] = [*([LeftOut(items=fresh)] if fresh else []), Resumed(budget=plan.budget)]
    state.runs.step(
        lead,
        version=len(entries),
        events=[encode_event(event) for event in events],
        status="running",
        open=True,
    )

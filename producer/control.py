"""What people do with a run while it goes on: pause, resume, cancel and retune it.

Each is a request to whoever leads the run, done within a round; a run that nobody drives is changed
by the process that asks. The answer says in words what came of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pydantic import ValidationError

from producer.minutes import active_seconds
from producer.queue.models import ControlReply, Retuning
from producer.requests import PATIENCE, WAIT_S, Cancel, Pause, Request, Resume, Retune, ask, tuned
from producer.stored_log import folded
from producer.summary import reason_of
from producer.view.words import retuned_words
from skillopt.domain.misread import in_short
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import ENDED, RunState
from skillopt.errors import Conflict, InputError
from skillopt.state.ports import State

#: Waits that many seconds.
Wait = Callable[[float], object]


def pause_run(state: State, run: str, plan: RunPlan, *, wait: Wait = time.sleep) -> ControlReply:
    """Let a run begin nothing new; what workers are at comes to its end and is kept."""
    known = _known(state, run, plan)
    if known.status != "running":
        return _unchanged(known, f"run {run!r} is not running: {_standing(known)}")
    after = _done(state, known, Pause(), wait)
    if after is None:
        return _waiting(run)
    if after.status in ENDED:
        return _unchanged(after, f"run {run!r} had ended before: {_standing(after)}")
    words = f"run {run!r} is paused: nothing new begins, what workers are at comes to its end"
    return ControlReply(run=run, outcome="done", words=words)


def resume_run(state: State, run: str, plan: RunPlan, *, wait: Wait = time.sleep) -> ControlReply:
    """Let a paused run go on. Raises Conflict for one that has ended, and for one whose budget is
    used up and has not been raised; QuotaExceeded if its owner may have no further open run.
    """
    known = _known(state, run, plan)
    _require_open(known, "resumed")
    if known.status == "running":
        return _unchanged(known, f"run {run!r} is not paused: it is queued or running")
    _require_budget(state, known)
    after = _done(state, known, Resume(), wait)
    if after is None:
        return _waiting(run)
    if after.status != "running":
        return _unchanged(after, f"run {run!r} does not go on: {_standing(after)}")
    words = f"run {run!r} goes on as soon as a coordinator takes it up"
    return ControlReply(run=run, outcome="done", words=words)


def cancel_run(state: State, run: str, plan: RunPlan, *, wait: Wait = time.sleep) -> ControlReply:
    """End a run: workers stop what they do for it alone within a heartbeat."""
    known = _known(state, run, plan)
    if known.status in ENDED:
        return _unchanged(known, f"run {run!r} has ended already: {_standing(known)}")
    after = _done(state, known, Cancel(), wait)
    if after is None:
        return _waiting(run)
    if after.finished:
        return _unchanged(after, f"run {run!r} finished before it could be cancelled")
    words = (
        f"run {run!r} is cancelled: workers stop what they do for it alone within a heartbeat; "
        "submitting its spec again goes on with it"
    )
    return ControlReply(run=run, outcome="done", words=words)


def retune_run(
    state: State, run: str, plan: RunPlan, retuning: Retuning, *, wait: Wait = time.sleep
) -> ControlReply:
    """Change budget, priority, window or stop rules of a run, paused or running.

    Raises InputError for values that cannot be in force, Conflict for a run that has ended.
    """
    request = _retune(retuning)
    known = _known(state, run, plan)
    _require_open(known, "retuned")
    _require_prices(state, known, request)
    retuned = tuned(known, request.changes)
    if not retuned.changed:
        return _unchanged(known, f"run {run!r} has these values already")
    after = _done(state, known, request, wait)
    if after is None:
        return _waiting(run)
    if after.status in ENDED:
        return _unchanged(after, f"run {run!r} had ended before: {_standing(after)}")
    words = f"run {run!r} goes by these from now on: {retuned_words(retuned)}"
    if after.paused:
        words += "; it is paused: `skillopt resume` lets it go on"
    return ControlReply(run=run, outcome="done", words=words)


def _known(state: State, run: str, plan: RunPlan) -> RunState:
    return folded(plan, state.runs.log(run))


def _done(state: State, known: RunState, request: Request, wait: Wait) -> RunState | None:
    """Have a request done and give the run's state after it; None if nobody has taken it up."""
    outcome = ask(state, known.run, known.plan, request, wait=wait)
    return None if outcome == "waiting" else _known(state, known.run, known.plan)


def _standing(known: RunState) -> str:
    reason = reason_of(known)
    return f"{known.status}, {reason}" if reason else known.status


def _unchanged(known: RunState, words: str) -> ControlReply:
    return ControlReply(run=known.run, outcome="unchanged", words=words)


def _waiting(run: str) -> ControlReply:
    words = (
        f"run {run!r} has been told, but its coordinator has not answered for "
        f"{PATIENCE * WAIT_S:.0f} s: it is done as soon as one looks after the run"
    )
    return ControlReply(run=run, outcome="waiting", words=words)


def _require_open(known: RunState, what: str) -> None:
    if known.finished:
        raise Conflict(f"run {known.run!r} cannot be {what}: it is finished, {reason_of(known)}")
    if known.cancelled:
        raise Conflict(
            f"run {known.run!r} cannot be {what}: it is cancelled; submit its spec again to go on "
            "with it"
        )


def _require_budget(state: State, known: RunState) -> None:
    """Raise Conflict if a run would pause again at once, for want of its own budget.

    What its owner or team may spend is raised elsewhere, and looked at with the next call.
    """
    if known.paused is None or known.paused.why != "budget":
        return
    minutes = known.budget.max_minutes
    active_s = active_seconds(state.runs.log(known.run))
    refused = state.budgets.spend(known.run).refused
    out_of_minutes = minutes is not None and active_s > minutes * 60
    if out_of_minutes or (refused is not None and refused.scope.kind == "run"):
        key = "max_minutes" if out_of_minutes or refused is None else f"max_{refused.cap}"
        raise Conflict(
            f"run {known.run!r} is paused because budget.{key} is used up; raise it first: "
            f"`skillopt retune {known.run} --set budget.{key}=…`"
        )


def _retune(retuning: Retuning) -> Retune:
    given = retuning.given()
    if not given:
        raise InputError(
            f"nothing to change is named; give one or more of {', '.join(Retuning.model_fields)}"
        )
    if given.get("priority", "normal") is None:
        raise InputError("priority: None does not fit; give low, normal or high")
    try:
        return Retune(changes=given)
    except ValidationError as error:
        raise InputError(
            f"{given!r} cannot be in force: {in_short(error)}; give more than 0, or null for no "
            "limit"
        ) from error


def _require_prices(state: State, known: RunState, request: Retune) -> None:
    """Refuse to limit the money of a run whose calls may have no price."""
    wanted = request.changes.get("max_usd")
    if wanted is None or known.plan.budget.max_usd is not None:
        return
    spend = state.budgets.spend(known.run)
    if spend.unpriced_calls or not sum(spend.calls.values()):
        why = "calls without a price" if spend.unpriced_calls else "no call yet that tells a price"
        raise Conflict(
            f"max_usd: {wanted!r} cannot be held to: run {known.run!r} has {why}; write "
            "budget.max_usd in its spec, which checks every price, or limit max_calls or max_tokens"
        )

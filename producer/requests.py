"""What a second process may ask of a run, and doing it: under the run's lead, as events.

A request is left with the run first. Then whoever leads the run writes the events it asks for: its
coordinator, within a round, or (of a run that nobody drives) the process that asked. Doing a
request twice changes nothing, so a crash at any moment costs nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from producer.caps import caps_of
from producer.letting_go import open_jobs
from producer.mirror import complete_folder
from producer.queue.models import Retuning
from producer.run_folder import RunFolder
from producer.stored_log import folded
from skillopt.domain.events import Event, encode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import ENDED, RunState
from skillopt.domain.spec import Budget, Stop
from skillopt.domain.steering_events import Cancelled, LeftOut, Paused, Resumed, Retuned
from skillopt.errors import Fenced, QuotaExceeded, StaleVersion, StateCorrupt
from skillopt.loop.fold import apply
from skillopt.state.ports import Lead, State

log = logging.getLogger(__name__)

#: How often, and how long each time, a run's coordinator is waited for: longer than the lease of
#: one that was killed a moment ago.
PATIENCE, WAIT_S = 400, 0.05

#: Pauses that a second try, or one task less, may end; a used-up budget takes a higher one.
CURABLE = frozenset({"coverage", "infrastructure"})


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class LeaveOut(_Request):
    """Take tasks out of every later comparison: task -> why."""

    type: Literal["leave_out"] = "leave_out"
    items: dict[str, str]


class TryAgain(_Request):
    """Want the jobs again that the run has given up, and end a pause that came of them."""

    type: Literal["try_again"] = "try_again"


class Pause(_Request):
    """Begin nothing new until the run is resumed."""

    type: Literal["pause"] = "pause"


class Resume(_Request):
    """Go on with a paused run, under the budget that is in force."""

    type: Literal["resume"] = "resume"


class Cancel(_Request):
    """End the run, and stop what workers are at for it alone."""

    type: Literal["cancel"] = "cancel"


class Retune(_Request):
    """Change budget, priority, window or stop rules: the keys of `Retuning` that are given."""

    type: Literal["retune"] = "retune"
    changes: dict[str, Any]

    @field_validator("changes")
    @classmethod
    def _can_be_in_force(cls, changes: dict[str, Any]) -> dict[str, Any]:
        given = Retuning.model_validate(changes).given()
        for section in (Budget, Stop):
            section.model_validate(_of(section, given))
        return given


Request = LeaveOut | TryAgain | Pause | Resume | Cancel | Retune
_REQUEST: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="type")])

#: "coordinator": the run's coordinator did it. "here": this process, for nobody drives the run.
#: "finished": the run has ended. "waiting": nobody has taken it up yet.
Outcome = Literal["coordinator", "here", "finished", "waiting"]


def decode_request(encoded: str) -> Request:
    """Read a request; raises StateCorrupt for one that this version does not know."""
    try:
        return _REQUEST.validate_json(encoded)
    except ValidationError as error:
        raise StateCorrupt(f"a request to a run is not understood: {error}") from error


def events_for(state: RunState, requests: Iterable[Request]) -> list[Event]:
    """Give the events that do what is asked of a run; none for what is so already."""
    events: list[Event] = []
    for request in requests:
        for event in _events_for(state, request):
            events.append(event)
            state = apply(state, event)
    return events


def _events_for(state: RunState, request: Request) -> list[Event]:
    if state.status in ENDED:
        return []
    match request:
        case Pause():
            return [] if state.paused else [Paused(why="requested", detail="")]
        case Resume():
            return [Resumed(budget=state.budget)] if state.paused else []
        case Cancel():
            return [Cancelled()]
        case Retune():
            retuned = tuned(state, request.changes)
            return [retuned] if retuned.changed else []
        case LeaveOut() | TryAgain():
            return _without_or_again(state, request)


def _without_or_again(state: RunState, request: LeaveOut | TryAgain) -> list[Event]:
    events: list[Event] = []
    if isinstance(request, LeaveOut):
        fresh = {item: why for item, why in request.items.items() if item not in state.left_out}
        events += [LeftOut(items=fresh)] if fresh else []
    is_stuck = state.paused is not None and state.paused.why in CURABLE
    gives_up = isinstance(request, TryAgain) and state.paused is None and state.given_up
    if is_stuck or gives_up:
        events.append(Resumed(budget=state.budget))
    return events


def tuned(state: RunState, changes: Mapping[str, Any]) -> Retuned:
    """Give what is in force after a change, and which of the keys are other than now."""
    budget = state.budget.model_copy(update=_of(Budget, changes))
    stop = state.stop.model_copy(update=_of(Stop, changes))
    priority = changes.get("priority") or state.priority
    window = changes.get("window", state.window)
    before = {**dict(state.budget), **dict(state.stop)}
    before |= {"priority": state.priority, "window": state.window}
    after = {**dict(budget), **dict(stop), "priority": priority, "window": window}
    changed = tuple(name for name, value in after.items() if before[name] != value)
    return Retuned(budget=budget, stop=stop, priority=priority, window=window, changed=changed)


def _of(section: type[Budget] | type[Stop], changes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in changes.items() if name in section.model_fields}


def puts_caps_into_force(before: RunState, after: RunState) -> bool:
    """Whether the meter of a run must hear of its budget anew: refusals end with that."""
    goes_on = before.status != "running" and after.status == "running"
    return goes_on or before.budget != after.budget


def understood(encoded: Iterable[str]) -> list[Request]:
    """Read requests; one that is not understood is named in the log and otherwise ignored."""
    found: list[Request] = []
    for one in encoded:
        try:
            found.append(decode_request(one))
        except StateCorrupt as error:
            log.warning("%s", error, extra={"event": "request_refused"})
    return found


def ask(
    state: State,
    run: str,
    plan: RunPlan,
    request: Request,
    *,
    wait: Callable[[float], object],
    folder: RunFolder | None = None,
    patience: int = PATIENCE,
) -> Outcome:
    """Have a request done by whoever leads the run; on "waiting" it stays with the run.

    `folder`: the run's, which is completed if it is this process that changes the run. Raises
    QuotaExceeded (and nothing is done) if the run would go on, and its owner may have no further
    open one.
    """
    posted = state.requests.post(run, request.model_dump_json())
    for _ in range(patience):
        if all(one.id != posted for one in state.requests.pending(run)):
            return "coordinator"
        lead = state.runs.lead(run, f"request:{uuid.uuid4().hex}")
        if lead is None:
            wait(WAIT_S)
            continue
        try:
            return _do_pending(state, lead, plan, folder)
        except QuotaExceeded:
            state.requests.settle(run, [posted])
            raise
        except (Fenced, StaleVersion):
            continue  # somebody else moved the run: look again
        finally:
            state.runs.resign(lead)
    return "waiting"


def _do_pending(state: State, lead: Lead, plan: RunPlan, folder: RunFolder | None) -> Outcome:
    pending = state.requests.pending(lead.run)
    entries = state.runs.log(lead.run)
    known = folded(plan, entries)
    events = events_for(known, understood(one.request for one in pending))
    after = known
    for event in events:
        after = apply(after, event)
    if events:
        _prepare(state, lead, known, after)
        state.runs.step(
            lead,
            version=len(entries),
            events=[encode_event(event) for event in events],
            status=after.status,
            open=after.status == "running",
        )
        if puts_caps_into_force(known, after):
            state.budgets.set_caps(lead.run, caps_of(after.budget))
        if folder is not None:
            complete_folder(folder, state, plan)
    state.requests.settle(lead.run, [one.id for one in pending])
    return "finished" if known.status in ENDED else "here"


def _prepare(state: State, lead: Lead, known: RunState, after: RunState) -> None:
    """Do what must be done before the log says so: a crash in between is mended by repeating."""
    if after.status == "running":
        if known.given_up and not after.given_up:
            state.board.retry(lead, list(known.given_up))
    elif after.status != known.status:
        keep_leased = after.status not in ENDED
        state.board.unwant(lead, open_jobs(state, known), keep_leased=keep_leased)

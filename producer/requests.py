"""What a second process may ask of a run, and doing it: under the run's lead, as events.

A request is left with the run first. Then whoever leads the run writes the events it asks for: its
coordinator, within a round, or (of a run that nobody drives) the process that asked. Doing a
request twice changes nothing, so a crash at any moment costs nothing.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from producer.mirror import complete_folder
from producer.run_folder import RunFolder
from producer.stored_log import folded
from producer.submit import PATIENCE, WAIT_S
from skillopt.domain.events import Event, LeftOut, Resumed, encode_event
from skillopt.domain.plan import RunPlan
from skillopt.domain.run import RunState
from skillopt.errors import Fenced, StaleVersion, StateCorrupt
from skillopt.loop.fold import apply
from skillopt.state.ports import Lead, State

log = logging.getLogger(__name__)

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


Request = LeaveOut | TryAgain
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
    if state.finished:
        return []
    events: list[Event] = []
    if isinstance(request, LeaveOut):
        fresh = {item: why for item, why in request.items.items() if item not in state.left_out}
        events += [LeftOut(items=fresh)] if fresh else []
    is_stuck = state.paused is not None and state.paused.why in CURABLE
    gives_up = isinstance(request, TryAgain) and state.paused is None and state.given_up
    if is_stuck or gives_up:
        events.append(Resumed(budget=state.budget))
    return events


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

    `folder`: the run's, which is completed if it is this process that changes the run.
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
        state.runs.step(
            lead,
            version=len(entries),
            events=[encode_event(event) for event in events],
            status=after.status,
            open=after.status == "running",
        )
        if folder is not None:
            complete_folder(folder, state, plan)
    state.requests.settle(lead.run, [one.id for one in pending])
    return "finished" if known.finished else "here"

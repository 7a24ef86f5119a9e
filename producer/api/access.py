"""What a route may rely on: who asks, their view of the queue, and runs that are theirs."""

from __future__ import annotations

import re
from typing import Annotated, Final

from fastapi import Depends, Path, Request

from producer.api.caller import Caller
from producer.api.failures import Refusal, not_allowed, unknown_run
from producer.api.parts import ApiParts
from producer.queue.port import Queue
from skillopt.state.ports import RunInfo

#: Ids, names and their beginnings; nothing else can be a run.
_REFERENCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")
_LISTED: Final = 8
LAST: Final = "last"


def parts_of(request: Request) -> ApiParts:
    parts: ApiParts = request.app.state.parts
    return parts


def caller_of(request: Request) -> Caller:
    """Give the caller; a request that came past the authentication has none, and no answer."""
    caller = getattr(request.state, "caller", None)
    if not isinstance(caller, Caller):
        raise Refusal(401, "no_token", "this needs a token")
    return caller


Parts = Annotated[ApiParts, Depends(parts_of)]
Asking = Annotated[Caller, Depends(caller_of)]


def queue_of(parts: Parts, caller: Asking) -> Queue:
    return parts.queue.for_caller(owner=caller.owner, team=caller.team, sees=caller.sees)


def runner(caller: Asking) -> Caller:
    if not caller.may_run:
        raise not_allowed(f"a {caller.role} cannot submit or steer runs", "role runner or admin")
    return caller


def admin(caller: Asking) -> Caller:
    if not caller.is_admin:
        raise not_allowed(f"a {caller.role} cannot do this", "role admin")
    return caller


def seen_run(
    parts: Parts,
    caller: Asking,
    run: Annotated[str, Path(description='Id, name, unique beginning of an id, or "last"')],
) -> RunInfo:
    """Find a run among those that the caller may see; others do not exist for them."""
    if not _REFERENCE.fullmatch(run):
        raise unknown_run(run)
    found = parts.state.runs.info(run)
    if found is not None and _visible(caller, found):
        return found
    seen = [info for info in parts.state.runs.all() if _visible(caller, info)]
    meant = [info for info in seen if info.meta.get("name") == run]
    meant = meant or [info for info in seen if info.run.startswith(run)]
    if run == LAST:
        meant = seen[:1]
    if not meant:
        raise unknown_run(run)
    if len(meant) > 1:
        listed = ", ".join(info.run for info in meant[:_LISTED])
        raise Refusal(
            422, "several_runs", f"{run!r} means several runs: {listed}", fix="give the id of one"
        )
    return meant[0]


def steered_run(
    caller: Annotated[Caller, Depends(runner)], info: Annotated[RunInfo, Depends(seen_run)]
) -> str:
    """Find a run that the caller may change: their owner's, for an admin any."""
    owner = info.meta.get("owner", "")
    if not caller.steers(owner):
        raise not_allowed(
            f"run {info.run!r} belongs to {owner or 'nobody'!r}, not to {caller.owner!r}",
            "its owner, or of role admin",
        )
    return info.run


def _run_id(info: Annotated[RunInfo, Depends(seen_run)]) -> str:
    return info.run


def _visible(caller: Caller, info: RunInfo) -> bool:
    return caller.sees(info.meta.get("owner", ""), info.meta.get("team", ""))


CallersQueue = Annotated[Queue, Depends(queue_of)]
Running = Annotated[Caller, Depends(runner)]
Administering = Annotated[Caller, Depends(admin)]
SeenRun = Annotated[str, Depends(_run_id)]
SteeredRun = Annotated[str, Depends(steered_run)]
